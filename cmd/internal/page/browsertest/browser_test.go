package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium is the browser, such as "chromium".
var chromium = os.Getenv("CHROMIUM")

// patience is how long a test waits for what must happen. A busy machine may need most
// of it.
const patience = 10 * time.Minute

var (
	address string          // of the page
	folder  string          // of the program that is built, removed after the tests
	program string          // restart, which serves the page
	browser context.Context // one for all tests
)

func TestMain(m *testing.M) {
	if chromium == "" {
		fmt.Println("CHROMIUM names no browser: the page is not tested")
		return
	}
	code, err := withPage(m.Run)
	if err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

// built builds the program restart, and returns its path.
func built() (path string, err error) {
	path = filepath.Join(folder, "restart")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./restart")
	build.Dir = "../../.."
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("restart: %w\n%s", err, said)
	}
	return path, nil
}

// withPage builds the page, serves it, and runs the tests.
func withPage(test func() int) (code int, err error) {
	if folder, err = os.MkdirTemp("", "browsertest-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	if program, err = built(); err != nil {
		return 0, err
	}
	server := exec.Command(program, "page", "--addr", "127.0.0.1:0")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		address = strings.TrimSpace(line)
		code, err = withBrowser(test)
		err = errors.Join(err, server.Process.Signal(syscall.SIGINT))
	}
	return code, errors.Join(err, server.Wait())
}

// withBrowser starts the browser, and runs the tests. Chromium sometimes crashes while it
// starts, before it has seen the page. It is then started again, at most twice, and the
// output says so.
func withBrowser(test func() int) (code int, err error) {
	for start := range 3 {
		var stop func()
		if stop, err = startBrowser(filepath.Join(folder, fmt.Sprint("profile", start))); err == nil {
			defer stop()
			return test(), nil
		}
		stop()
		fmt.Printf("start %d of the browser failed: %v\n", start+1, err)
	}
	return 0, err
}

// startBrowser starts the browser with an empty profile. Root cannot have a sandbox.
func startBrowser(profile string) (stop func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium),
		chromedp.Flag("no-sandbox", os.Geteuid() == 0),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.UserDataDir(profile),
		chromedp.WSURLReadTimeout(patience),
	)
	allocated, stopAll := chromedp.NewExecAllocator(context.Background(), options...)
	var cancel func()
	browser, cancel = chromedp.NewContext(allocated)
	return func() { cancel(); stopAll() }, chromedp.Do(browser)
}

// tab is a page in a browser of its own.
type tab struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	loaded   bool
	requests []string // to somebody else, after it was loaded
	trouble  []string // errors and warnings of the console, exceptions, violations of the policy
}

// open opens the page, which shares nothing with other tabs, and waits until it is ready.
// At the end of the test it must have asked nobody but its own program, and the console be
// empty.
func open(t *testing.T, fragment string, width int64, dark bool) *tab {
	t.Helper()
	bound, cancel := context.WithTimeout(browser, patience)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(bound, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	p := &tab{Context: ctx, t: t}
	if err := chromedp.Listen(ctx, p.heard); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.check)
	p.do(call(network.Enable, network.EnableParams{}), call(log.Enable, cdp.Empty{}),
		chromedp.EmulateViewport(width, 900), emulateColours(dark), chromedp.Navigate(address+fragment))
	p.await(`document.documentElement?.dataset.ready === 'yes'`)
	p.settle()
	p.mu.Lock()
	p.loaded = true
	p.mu.Unlock()
	return p
}

// heard notes what must not be.
func (p *tab) heard(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if p.loaded && !strings.HasPrefix(e.Request.URL, address) && !strings.HasPrefix(e.Request.URL, "data:") {
			p.requests = append(p.requests, e.Request.URL)
		}
	case *runtime.EventConsoleAPICalled:
		p.trouble = append(p.trouble, fmt.Sprintf("console %s: %s", e.Type, said(e.Args)))
	case *runtime.EventExceptionThrown:
		p.trouble = append(p.trouble, fmt.Sprintf("exception: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		p.trouble = append(p.trouble, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	}
}

func said(args []*runtime.RemoteObject) (text string) {
	for _, a := range args {
		text += " " + fmt.Sprintf("%s%v", a.Value, a.Description)
	}
	return text
}

// check reports requests and trouble.
func (p *tab) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		p.t.Errorf("a request to somebody else: %.200s", r)
	}
	for _, text := range p.trouble {
		p.t.Errorf("%.500s", text)
	}
}

// call is a command of the browser as an action.
func call[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns the value of an expression.
func eval[T any](p *tab, expression string, args ...any) T {
	p.t.Helper()
	value, err := chromedp.Run(p, chromedp.Evaluate[T](script(expression, args...), chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatal(err)
	}
	return value
}

// await waits until a condition holds.
func (p *tab) await(condition string, args ...any) {
	p.t.Helper()
	eval[bool](p, `new Promise(held => { const look = () => (`+script(condition, args...)+`) ? held(true) : setTimeout(look, 20); look(); })`)
}

// script puts values into an expression, as JSON.
func script(expression string, args ...any) string {
	for _, a := range args {
		text, err := json.Marshal(a)
		if err != nil {
			panic(err)
		}
		expression = strings.Replace(expression, "$", string(text), 1)
	}
	return expression
}

// settle waits until the page shows what comes of all that was entered.
func (p *tab) settle() {
	p.t.Helper()
	p.await(`!document.documentElement.dataset.busy`)
}

// act runs statements in the page, and waits until it shows what comes of them.
func (p *tab) act(statements string, args ...any) {
	p.t.Helper()
	eval[bool](p, `(async () => { `+statements+`; return true; })()`, args...)
	p.settle()
}

// choose shows a tab.
func (p *tab) choose(name string) {
	p.t.Helper()
	p.act(`document.getElementById('tab-' + $).click()`, name)
}

// texts returns the texts of elements.
func (p *tab) texts(selector string) []string {
	p.t.Helper()
	p.settle()
	return eval[[]string](p, `[...document.querySelectorAll($)].filter(e => e.checkVisibility()).map(e => e.textContent)`, selector)
}

// emulateColours makes the browser prefer a dark ground, or a light one.
func emulateColours(dark bool) chromedp.Action[chromedp.Void] {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// tooWide names the elements that leave the page.
func (p *tab) tooWide(width int64) []string {
	return eval[[]string](p, `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > $ + 1 && !e.closest('.scroll, .picture, pre, textarea')).slice(0, 5).map(e => e.tagName + '#' + e.id + '.' + e.className)`, width)
}
