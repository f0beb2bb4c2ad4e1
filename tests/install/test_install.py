#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make install` puts into an empty prefix is what a user needs there: manual pages that man
shows, completion that bash takes, a library that pkg-config finds, and the example built with it.
Usage: test_install.py BUILD SOURCE PREFIX LIBDIR MANDIR DATADIR
"""

import os
import shutil
import sys
import tempfile

import library

TOOLS = {"help2man": "help2man", "man": "man-db", "pkg-config": "pkg-config", "g++": "g++",
         "bash": "bash"}
VERBS = ["plan", "simulate", "lab", "cc", "version"]


def check_manual(folder):
    environment = dict(os.environ, MANPATH=folder, MANWIDTH="80", LC_ALL="C.UTF-8", PAGER="cat")
    for page in ["weft", "weft-run"] + ["weft-" + verb for verb in VERBS]:
        text = library.need(["man", "--warnings", page], env=environment)
        if "NAME" not in text or "--help" not in text and "Exit" not in text:
            raise library.Failed(f"man {page} shows no manual: {text[:200]!r}")


def complete(file, *words):
    """What bash offers for the last of the words."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = (f". '{file}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
              f"COMP_LINE='{' '.join(words)}'; COMP_POINT=${{#COMP_LINE}}; "
              f"$(complete -p {words[0]} | sed 's/.*-F \\([^ ]*\\).*/\\1/') "
              f"{words[0]} '{words[-1]}' '{words[-2]}'; echo ${{COMPREPLY[@]}}")
    return library.need(["bash", "-c", script]).split()


def check_completion(folder):
    for words, wanted in ((("weft", "pl"), "plan"), (("weft", "simulate", "--fab"), "--fabric"),
                          (("weft-run", "--ch"), "--check")):
        offered = complete(os.path.join(folder, words[0]), *words)
        if wanted not in offered:
            raise library.Failed(f"completion of {' '.join(words)} offers {offered}")


def check_module(place):
    """The installed program loads the module that speaks HTTP, and says so where it is gone."""
    ask = [os.path.join(place, "bin", "weft"), "lab", "ocs", "show", "--box", "127.0.0.1:1"]
    module = os.path.join(place, "lib", "weft", "weft-http.so")
    done = library.run(*ask)
    if done.returncode != 5 or "Connection refused" not in done.stderr:
        raise library.Failed(f"the module is not loaded: {done.returncode}: {done.stderr!r}")
    for damage, said in ((lambda: open(module, "wb").close(), "weft-http.so cannot be loaded ("),
                         (lambda: os.remove(module), "weft-http.so is missing")):
        damage()
        done = library.run(*ask)
        lines = done.stderr.splitlines()
        if done.returncode != 4 or len(lines) != 1 or said not in lines[0] or (
                "install Weft" not in lines[0]):
            raise library.Failed(f"without its module: {done.returncode}: {done.stderr!r}")


def check_claims(place):
    """The installed program finds its claims, and they the examples, wherever it is called from."""
    asked = [os.path.join(place, "bin", "weft"), "reproduce", "topoopt-cost-ocs-200g", "--json"]
    done = library.run(*asked)
    if done.returncode != 0 or '"verdict": "met"' not in done.stdout:
        raise library.Failed(f"{asked}: {done.returncode}: {done.stdout}{done.stderr}")


def check_found(prefix, libdir):
    """Where pkg-config looks without being told is where weft.pc goes, if the prefix is usual."""
    looked = library.need(["pkg-config", "--variable", "pc_path", "pkg-config"]).strip().split(":")
    place = os.path.join(prefix, libdir, "pkgconfig")
    if prefix in ("/usr", "/usr/local") and place not in looked:
        raise library.Failed(f"weft.pc goes to {place}; pkg-config looks in {looked}")


def main():
    build, source, prefix, libdir, mandir, datadir = sys.argv[1:]
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            print(f"skipped: no {tool} here; the Debian package {package} has it")
            return 77
    try:
        with tempfile.TemporaryDirectory() as root:
            place = root + prefix
            done = library.run("meson", "install", "-C", build, "--no-rebuild", "--destdir", root)
            if done.returncode != 0:
                raise library.Failed(f"meson install: {done.stdout}{done.stderr}")
            libraries = os.path.join(place, libdir)
            environment = dict(os.environ, LD_LIBRARY_PATH=libraries,
                               PKG_CONFIG_SYSROOT_DIR=root,
                               PKG_CONFIG_PATH=os.path.join(libraries, "pkgconfig"))
            check_found(prefix, libdir)
            check_manual(os.path.join(place, mandir))
            check_completion(os.path.join(place, datadir, "bash-completion", "completions"))
            library.need([os.path.join(place, "bin", "weft"), "version"])
            check_module(place)
            check_claims(place)
            flags = library.need(["pkg-config", "--cflags", "--libs", "weft"],
                                 env=environment).split()
            example = os.path.join(source, "examples", "library", "iteration.c")
            library.try_example(example, root, flags, environment)
    except library.Failed as failure:
        print(failure)
        return 1
    return 0


sys.exit(main())
