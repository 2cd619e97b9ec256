package testenv

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// debian returns the recipe for a program that PATH may have, and Debian's package does
// at the path in it. Unpacking changes nothing on the machine, whereas installing may
// start a service. A program in PATH must be usable.
func debian(name, pkg, path string, usable func(string) bool) recipe {
	return recipe{
		name:   name,
		folder: "debian",
		note:   fmt.Sprintf("unpacking %s from Debian's package %s, only this time", name, pkg),
		found: func() (string, bool) {
			found, err := exec.LookPath(name)
			return found, err == nil && usable(found)
		},
		make: func(ctx context.Context, dir string) error {
			env := []string{"DEBIAN_FRONTEND=noninteractive"}
			download := func() error { return run(ctx, dir, env, "apt-get", "download", pkg) }
			if download() != nil { // the package lists may be missing or old
				if err := run(ctx, dir, env, "apt-get", "update"); err != nil {
					return err
				}
				if err := download(); err != nil {
					return err
				}
			}
			packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
			if err != nil || len(packages) != 1 {
				return fmt.Errorf("apt-get download left %d packages", len(packages))
			}
			if err := run(ctx, dir, env, "dpkg-deb", "-x", packages[0], "unpacked"); err != nil {
				return err
			}
			return os.Rename(filepath.Join(dir, "unpacked", path), filepath.Join(dir, name))
		},
	}
}

func anyProgram(string) bool { return true }

// static reports whether a program needs no libraries, which images do not have.
func static(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}
