package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// edit makes the changes within files, to the Job controller's constructor and Run, to
// the kubelet's use of flowcontrol.Backoff, and to test files with omitted tests.
func (t *tree) edit() error {
	kubernetes := filepath.Join(t.dir, modules[0])
	controller := filepath.Join(kubernetes, "pkg/controller/job/job_controller.go")
	if err := rewrite(controller, func(f *file) error {
		f.startOf("", "NewController", "if ours { return newOurs(kubeClient, podInformer, jobInformer) }")
		f.startOf("Controller", "Run", "if jm.ours != nil { jm.ours.Run(ctx); return }")
		f.addField("Controller", "ours interface{ Run(context.Context) error }")
		return nil
	}); err != nil {
		return err
	}
	for _, s := range suites {
		for name, tests := range s.leftOut {
			if err := rewrite(filepath.Join(t.dir, s.pkg, name), func(f *file) error { f.cut(tests); return nil }); err != nil {
				return err
			}
		}
	}
	return filepath.WalkDir(filepath.Join(kubernetes, "pkg/kubelet"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(`"k8s.io/client-go/util/flowcontrol"`)) {
			return err
		}
		return rewrite(path, func(f *file) error {
			return f.requalify("k8s.io/client-go/util/flowcontrol", "github.com/restartkit/restart/conformance/upstream/flowcontrol",
				"Backoff", "NewBackOff", "NewFakeBackOff")
		})
	})
}

// A file is a file of Kubernetes being changed, with replacements by offset.
type file struct {
	text    []byte
	syntax  *ast.File
	set     *token.FileSet
	changes []change
	missing []string
}

type change struct {
	from, to int
	text     string
}

func rewrite(path string, edit func(*file) error) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f := &file{text: text, set: token.NewFileSet()}
	if f.syntax, err = parser.ParseFile(f.set, path, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return err
	}
	if err := edit(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(f.missing) > 0 {
		return fmt.Errorf("%s: there is no %s", path, strings.Join(f.missing, ", no "))
	}
	slices.SortFunc(f.changes, func(a, b change) int { return b.from - a.from })
	for _, c := range f.changes {
		text = slices.Concat(text[:c.from], []byte(c.text), text[c.to:])
	}
	if text, err = format.Source(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, text, 0o644)
}

func (f *file) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *file) insert(at token.Pos, text string) {
	f.changes = append(f.changes, change{f.offset(at), f.offset(at), text})
}

// startOf inserts a statement at the start of a function or method.
func (f *file) startOf(receiver, name, statement string) {
	for _, d := range f.syntax.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Name.Name == name && receiverOf(d) == receiver {
			f.insert(d.Body.Lbrace+1, "\n"+statement+"\n")
			return
		}
	}
	f.missing = append(f.missing, "function "+name)
}

// receiverOf returns the type of a method's pointer receiver, or "" for a function.
func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	star, ok := d.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return "?"
	}
	if ident, ok := star.X.(*ast.Ident); ok {
		return ident.Name
	}
	return "?"
}

// cut removes functions, and imports that become unused.
func (f *file) cut(functions []string) {
	missing := slices.Clone(functions)
	usedByCut, used := map[string]bool{}, map[string]bool{}
	for _, d := range f.syntax.Decls {
		uses := used
		if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && slices.Contains(functions, d.Name.Name) {
			uses = usedByCut
			from := d.Pos()
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
			f.changes = append(f.changes, change{f.offset(from), f.offset(d.End()), ""})
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == d.Name.Name })
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok {
					uses[x.Name] = true
				}
			}
			return true
		})
	}
	for _, i := range f.syntax.Imports {
		if name := localName(i); usedByCut[name] && !used[name] {
			f.changes = append(f.changes, change{f.offset(i.Pos()), f.offset(i.End()), ""})
		}
	}
	for _, name := range missing {
		f.missing = append(f.missing, "function "+name)
	}
}

// keepSpecs makes the specs in one folder of pkg the only ones in the package of
// Kubernetes' end-to-end tests, which imports them. The framework and the list of
// features stay. The file may have been changed for another folder.
func (f *file) keepSpecs(pkg, kept string) {
	replacement := "_ " + strconv.Quote(pkg+"/"+kept)
	for _, i := range f.syntax.Imports {
		folder, ok := strings.CutPrefix(strings.Trim(i.Path.Value, "\"`"), pkg+"/")
		if !ok || localName(i) != "_" || folder == "feature" || strings.HasPrefix(folder, "framework/") {
			continue
		}
		f.changes = append(f.changes, change{f.offset(i.Pos()), f.offset(i.End()), replacement})
		replacement = ""
	}
	if replacement != "" {
		f.missing = append(f.missing, "import of specs in "+pkg)
	}
}

// localName returns the name by which a file uses an import, assuming that the package
// is named after its folder.
func localName(i *ast.ImportSpec) string {
	if i.Name != nil {
		return i.Name.Name
	}
	path := strings.Trim(i.Path.Value, "\"`")
	return path[strings.LastIndex(path, "/")+1:]
}

// addField adds a field to a struct type.
func (f *file) addField(name, field string) {
	found := false
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == name {
			if s, ok := spec.Type.(*ast.StructType); ok {
				f.insert(s.Fields.Opening+1, "\n"+field+"\n")
				found = true
			}
		}
		return true
	})
	if !found {
		f.missing = append(f.missing, "struct "+name)
	}
}

// requalify changes the package of some names.
func (f *file) requalify(from, to string, names ...string) error {
	var spec *ast.ImportSpec
	for _, i := range f.syntax.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil && path == from {
			spec = i
		}
	}
	if spec == nil {
		return fmt.Errorf("no import of %s", from)
	}
	local := localName(spec)
	const alias = "restartflowcontrol"
	moved, left := 0, 0
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == local {
			if !slices.Contains(names, s.Sel.Name) {
				left++
				return true
			}
			moved++
			f.changes = append(f.changes, change{f.offset(x.Pos()), f.offset(x.End()), alias})
		}
		return true
	})
	if moved == 0 {
		return nil
	}
	imports := alias + " " + strconv.Quote(to)
	if left > 0 {
		imports += "\n" + string(f.text[f.offset(spec.Pos()):f.offset(spec.End())])
	}
	f.changes = append(f.changes, change{f.offset(spec.Pos()), f.offset(spec.End()), imports})
	return nil
}
