"""A plugin of pytest that writes a line of TAP for each test into the file that GPUAES_TEST_TAP names.

A test's line comes when its teardown is over: it is wrong if any of the three phases failed.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import os


class Tap:
    def __init__(self, path):
        # In the order of the tests; a process that ends in the middle leaves what it has told.
        self.file = open(path, "w", encoding="utf-8", buffering=1)
        self.process = os.getpid()
        self.failures, self.skipped = [], None

    def line(self, text):
        # A forked child of a test has the same file.
        if os.getpid() == self.process:
            print(text, file=self.file)

    def result(self, name):
        name = name.replace("#", "_")
        if self.failures:
            self.line(f"not ok {name}")
            for line in "\n".join(self.failures).splitlines():
                self.line(f"# {line}")
        else:
            self.line(f"ok {name}" + ("" if self.skipped is None else f" # SKIP {self.skipped}"))
        self.failures, self.skipped = [], None

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failures.append(f"{report.when}: {report.longreprtext}")
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
            self.skipped = " ".join(str(reason).removeprefix("Skipped: ").split())
        if report.when == "teardown":
            self.result(report.nodeid.rpartition("/")[2])

    def pytest_collectreport(self, report):
        """A file that cannot be imported, or that asks to be skipped."""
        if report.failed or report.skipped:
            self.pytest_runtest_logreport(_Whole(report))
            self.result(report.nodeid.rpartition("/")[2])


class _Whole:
    def __init__(self, report):
        self.failed, self.skipped, self.when = report.failed, report.skipped, "collection"
        self.longrepr, self.longreprtext = report.longrepr, report.longreprtext


def pytest_configure(config):
    if path := os.environ.get("GPUAES_TEST_TAP"):
        config.pluginmanager.register(Tap(path), "gpuaes-tap")
