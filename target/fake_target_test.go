//go:build unix

package target

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// fakeTarget is a target that misbehaves as its mode says.
func fakeTarget(mode string) {
	dir := os.Getenv("PARLEY_DIR")
	switch mode {
	case "serve":
	case "slow": // to start
		time.Sleep(200 * time.Millisecond)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "never": // ready
		time.Sleep(time.Hour)
	case "dies":
		fmt.Fprintln(os.Stderr, "cannot read its config")
		os.Exit(3)
	case "ends":
		return
	case "logs": // and offers nothing
		fmt.Print("booting\nlisten")
		time.Sleep(50 * time.Millisecond)
		fmt.Print("ing on nothing")
		time.Sleep(time.Hour)
	case "loud":
		line := strings.Repeat("x", 99) + "\n"
		for range 50_000 {
			fmt.Print(line)
			fmt.Fprint(os.Stderr, line)
		}
		fmt.Fprintln(os.Stderr, "the last line")
	case "clash": // once
		if mark := filepath.Join(os.Getenv("PARLEY_PROFILE_DIR"), "clashed"); !exists(mark) {
			must(os.WriteFile(mark, nil, 0o600))
			fmt.Fprintln(os.Stderr, "listen tcp 127.0.0.1:1: bind: address already in use")
			os.Exit(1)
		}
	case "twice": // listens at a second port too
		go func() { must(http.ListenAndServe("127.0.0.1:"+os.Getenv("PARLEY_PORT2"), nil)) }()
	case "clash2": // once, and without a word: something else took the second port
		if mark := filepath.Join(os.Getenv("PARLEY_PROFILE_DIR"), "clashed"); !exists(mark) {
			must(os.WriteFile(mark, []byte(os.Getenv("PARLEY_PORT2")), 0o600))
			for !exists(mark + "-taken") {
				time.Sleep(time.Millisecond)
			}
			os.Exit(1)
		}
	case "once", "once-ready": // and never again
		once(filepath.Join(dir, "started"), mode == "once-ready")
	default:
		fakeFamily(mode)
	}
	serve(dir)
}

// once returns if a mark file is missing, and creates it. Otherwise it ends the process, or hangs.
func once(mark string, hangs bool) {
	if !exists(mark) {
		must(os.WriteFile(mark, nil, 0o600))
		return
	}
	if hangs {
		time.Sleep(time.Hour)
	}
	fmt.Fprintln(os.Stderr, "the store is locked")
	os.Exit(4)
}

// fakeFamily implements the modes of fakeTarget with children or without a port.
func fakeFamily(mode string) {
	switch mode {
	case "family": // with a child and a grandchild, which ignore the request to exit
		must(exec.Command("sh", "-c", "trap '' TERM; sleep 600 & sleep 600").Start())
	case "escape": // with a child in another session that holds the output open
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{"FAKE_TARGET=never"} // without its mark
		cmd.Stdout = os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		must(cmd.Start())
		must(os.WriteFile(filepath.Join(os.Getenv("PARLEY_PROFILE_DIR"), "escaped"), fmt.Append(nil, cmd.Process.Pid), 0o600))
	case "agent": // reports what it was told, and exits when asked to
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, strings.Join(os.Args[1:], " "), os.Getenv("ALL"))
		<-term
		os.Exit(0)
	case "agents": // with a child that ignores the request to exit
		must(exec.Command("sh", "-c", "trap '' TERM; echo up >&2; sleep 600 & sleep 600").Start())
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "up")
		time.Sleep(time.Hour)
	case "speaks": // or serves, depending on its driver
		if os.Getenv("PARLEY_DRIVER") == "stdio" {
			speak()
		}
	case "floods": // and reads nothing
		fmt.Fprintln(os.Stderr, "up")
		for {
			fmt.Println(strings.Repeat("x", 99))
		}
	case "harness": // starts its own target and reports which
		p := toys.New("listening")
		p.URL = "http://127.0.0.1:{port}"
		p.Command = &Command{Run: []string{os.Args[0]}, Env: map[string]string{"FAKE_TARGET": "serve"}}
		p.Command.setDefaults()
		in, err := Start(context.Background(), p, LaunchOptions{})
		must(err)
		fmt.Println(in.currentProcess().group)
		time.Sleep(time.Hour)
	}
}

// speak prints what it was told, and then what it reads. It fails at the word "end", and exits at the end of its
// stdin.
func speak() {
	fmt.Println(strings.Join(os.Args[1:], " "), os.Getenv("ALL"), os.Getenv("PARLEY_URL"))
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() == "end" {
			fmt.Fprintln(os.Stderr, "panic: out of cheese")
			fmt.Print("last words")
			os.Exit(7)
		}
		fmt.Println(in.Text())
	}
	os.Exit(0)
}

func serve(dir string) {
	if mode := os.Getenv("FAKE_TARGET"); mode != "stubborn" {
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		go func() {
			<-term
			_ = os.WriteFile(filepath.Join(dir, "terminated"), nil, 0o600)
			os.Exit(0)
		}()
	}
	asked := 0
	http.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/pid", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, os.Getpid()) })
	http.HandleFunc("/env", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, os.Getenv(r.URL.RawQuery)) })
	http.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) {
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(7)
	})
	must(http.ListenAndServe("127.0.0.1:"+os.Getenv("PARLEY_PORT"), nil))
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
}
