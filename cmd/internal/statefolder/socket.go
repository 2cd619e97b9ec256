//go:build unix

package statefolder

import (
	"errors"
	"io/fs"
	"net"
	"os"
)

// Listen opens a socket in the folder, replacing one left by a killed run. Closing the
// listener removes it.
func (f *Folder) Listen(name string) (net.Listener, error) {
	if info, err := f.root.Lstat(name); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, &fs.PathError{Op: "listen", Path: f.Path(name), Err: errors.New("is not a socket")}
	} else if err == nil {
		if err := f.root.Remove(name); err != nil {
			return nil, err
		}
	}
	var listener net.Listener
	err := f.through(func(dir string) (err error) {
		listener, err = net.Listen("unix", dir+"/"+name)
		return err
	})
	if err != nil {
		return nil, err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // by a path valid only now
	return &socket{Listener: listener, folder: f, name: name}, nil
}

// socket removes its file on Close.
type socket struct {
	net.Listener
	folder *Folder
	name   string
}

func (s *socket) Close() error {
	return errors.Join(s.Listener.Close(), s.folder.root.Remove(s.name))
}

// Dial connects to a socket in the folder.
func (f *Folder) Dial(name string) (conn net.Conn, err error) {
	err = f.through(func(dir string) (err error) {
		conn, err = net.Dial("unix", dir+"/"+name)
		return err
	})
	return conn, err
}

// through calls do with a path of the folder short enough for a socket's address, which
// is limited to about a hundred bytes.
func (f *Folder) through(do func(dir string) error) error {
	if len(f.dir) < 80 {
		return do(f.dir)
	}
	link, err := os.MkdirTemp("", "state")
	if err != nil {
		return err
	}
	defer os.RemoveAll(link)
	if err := os.Symlink(f.dir, link+"/s"); err != nil {
		return err
	}
	return do(link + "/s")
}
