"""Parley judges a server; each clause is a test case."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PARLEY = os.environ.get("PARLEY", "parley")
TARGET = pathlib.Path(__file__).resolve().parents[2] / "profiles" / "python.yaml"  # your profile, or a URL
SELECTED = "@AS-042 or @AS-080"  # leave --tags out for the whole suite


class TestConformance(unittest.TestCase):
    def test_clauses(self):
        with tempfile.TemporaryDirectory() as out:
            run = subprocess.run([PARLEY, "run", "--target", str(TARGET), "--driver", "sse", "--tags", SELECTED, "--allow-incomplete",
                                  "--format", "json,html", "--out", out], capture_output=True, text=True)
            if run.returncode not in (0, 1):  # 2: usage, 3: the target is not there, 4: Parley itself
                self.fail(run.stderr)
            results = json.loads(pathlib.Path(out, "results.json").read_text())
        judged = 0
        for one in results["runs"]:
            for clause in one["clauses"]:
                if clause["outcome"] in ("passed", "failed"):
                    judged += 1
                    with self.subTest(clause["id"]):
                        self.assertEqual(clause["outcome"], "passed", "%s: parley explain %s" % (clause["text"], clause["id"]))
        self.assertGreater(judged, 0, "nothing was judged")


if __name__ == "__main__":
    unittest.main()
