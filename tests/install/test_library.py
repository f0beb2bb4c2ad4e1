#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libweft.so exports the API and nothing else, has a soname, every public header is C++ alone, and
the examples of examples/library and examples/photonic compile and run as C and as C++.
Usage: test_library.py BUILD SOURCE
"""

import json
import os
import shutil
import sys
import tempfile

import library


def headers(include):
    for folder, _, names in os.walk(include):
        for name in sorted(names):
            if name.endswith(".h"):
                yield os.path.relpath(os.path.join(folder, name), include)


def check_headers(include, folder):
    for header in headers(include):
        path = os.path.join(folder, "header.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#include "{header}"\n')
        library.need(["g++", "-std=c++11", *library.WARNINGS, "-fsyntax-only", "-I", include,
                      path])


def check_umbrella(include):
    """weft.h includes the header of every room."""
    with open(os.path.join(include, "weft", "weft.h"), encoding="utf-8") as file:
        included = file.read()
    for name in sorted(os.listdir(os.path.join(include, "weft"))):
        if name.endswith(".h") and name != "weft.h" and f'"weft/{name}"' not in included:
            raise library.Failed(f"weft/weft.h does not include weft/{name}")


def check_exports(build, source):
    measured = json.loads(library.need([os.path.join(source, "tools", "measure"), "--json"]))
    same = os.path.realpath(build) == os.path.realpath(os.path.join(source, "build"))
    if same and (not measured["exported"] or measured["exported_not_api"] != 0):
        raise library.Failed(f"libweft.so exports {measured['exported']} symbols, "
                             f"{measured['exported_not_api']} of them no API")
    if "libweft.so.0" not in library.need(
            ["readelf", "-d", os.path.join(build, "libweft.so")]):
        raise library.Failed("libweft.so has no soname")


def try_multiply(source, folder, flags, environment):
    """The example of light says the same in both languages and draws its waveform."""
    said = set()
    for language, compiler in library.LANGUAGES.items():
        program = os.path.join(folder, "multiply-" + language)
        picture = os.path.join(folder, "wave.svg")
        library.need([*compiler, *library.WARNINGS, source, "-x", "none", "-o", program, *flags],
                     env=environment)
        said.add(library.need([program, "100", "50", picture], env=environment))
        with open(picture, encoding="utf-8") as file:
            if "rotation 3" not in file.read():
                raise library.Failed(f"{language}: the picture shows no rotation")
        done = library.run(program, "100", "256", env=environment)
        if done.returncode != 3 or "'256' is not a whole number" not in done.stderr:
            raise library.Failed(f"{language}: 256 ends with {done.returncode}: {done.stderr!r}")
    if len(said) != 1 or "rotation 3; 100 * 50 / 256 = " not in next(iter(said)):
        raise library.Failed(f"the example of light says {said}")


def main():
    build, source = sys.argv[1:]
    if shutil.which("g++") is None:
        print("skipped: no g++ here; tools/setup check installs it")
        return 77
    environment = dict(os.environ, LD_LIBRARY_PATH=build)
    include = os.path.join(source, "include")
    try:
        with tempfile.TemporaryDirectory() as folder:
            check_headers(include, folder)
            check_umbrella(include)
            check_exports(build, source)
            library.try_example(os.path.join(source, "examples", "library", "iteration.c"), folder,
                                ["-I", include, "-L", build, "-lweft"], environment)
            try_multiply(os.path.join(source, "examples", "photonic", "multiply.c"), folder,
                         ["-I", include, "-L", build, "-lweft"], environment)
    except library.Failed as failure:
        print(failure)
        return 1
    return 0


sys.exit(main())
