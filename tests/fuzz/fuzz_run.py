"""Run the fuzz suite: ``make fuzz``, or ``python tests/fuzz/fuzz_run.py --minutes 30 --workers 2``.

Every input is named by its kind and a number, and is drawn from them alone: ``--replay "write tables:1234"`` runs one
again. Findings are written to ``fuzz-findings.jsonl``; once mended, their names go into ``seeds/findings.txt``, which
the test suite replays.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
SECONDS = 20  # an input that takes longer is a hang


class Hang(BaseException):
    """No Exception, so that nobody on the way catches it."""


def run_case(kind, number):
    """The outcome of one input as a word; raises whatever must not happen."""
    from fuzz_kinds import KINDS

    rng = random.Random(f"{kind}:{number}")
    with tempfile.TemporaryDirectory(prefix="isthmus-fuzz-") as folder:
        outcome = KINDS[kind][0](rng, folder)
    return outcome if isinstance(outcome, str) else "answered"


def processor_seconds():
    """What this process and those it has waited for have used."""
    return sum(os.times()[:4])


def watched(kind, number):
    """A dict that tells what became of one input."""

    import fuzz_kinds  # noqa: F401  what importing takes is nobody's hang

    begin, worked, outcome, trace = time.monotonic(), processor_seconds(), "answered", None

    def stop(*_):
        # On a busy machine an input may wait long for its turn: it hangs when it works long, or never comes to an end.
        if processor_seconds() - worked > SECONDS / 2 or time.monotonic() - begin > 10 * SECONDS:
            raise Hang
        signal.alarm(5)

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        outcome = run_case(kind, number)
    except Hang:
        outcome, trace = "HANG", traceback.format_exc()
    except (Exception, SystemExit) as error:
        outcome, trace = f"FINDING {type(error).__name__}: {str(error)[:300]}", traceback.format_exc()
    except BaseException as error:  # a panic of a compiled part
        outcome, trace = f"FINDING {type(error).__name__}", traceback.format_exc()
    finally:
        signal.alarm(0)
    seconds = time.monotonic() - begin
    return {"kind": kind, "number": number, "outcome": outcome, "seconds": round(seconds, 3), "trace": trace}


def work(seed, seconds, kinds):
    """Run inputs until the time is over; one line of JSON before and after each."""
    from fuzz_kinds import KINDS, warm_up

    rng = random.Random(seed)
    names = kinds or list(KINDS)
    warm_up()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        kind = rng.choices(names, [KINDS[name][1] for name in names])[0]
        number = rng.randrange(2**31)
        print(json.dumps({"begin": f"{kind}:{number}"}), flush=True)
        print(json.dumps(watched(kind, number)), flush=True)


def start(seed, arguments, seconds):
    command = [sys.executable, __file__, "--work", str(seed), "--seconds", str(seconds)]
    for kind in arguments.kind or []:
        command += ["--kind", kind]
    out = tempfile.TemporaryFile("w+")  # noqa: SIM115  read when the worker has ended
    return subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL), out


def read_results(text):
    """Finished inputs, and the one that was begun and not ended."""
    done, open_case = [], None
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if "begin" in entry:
            open_case = entry["begin"]
        else:
            done.append(entry)
            open_case = None
    return done, open_case


def supervise(arguments):
    """Keep the workers busy; a worker that dies or stands still is a finding, and another takes its place."""
    begin, seed = time.monotonic(), arguments.seed
    deadline = begin + 60 * arguments.minutes
    results, findings = [], []
    running = []
    while time.monotonic() < deadline or running:
        while len(running) < arguments.workers and time.monotonic() < deadline:
            seed += 1
            process, out = start(seed, arguments, min(300.0, deadline - time.monotonic()))
            running.append((process, out, time.monotonic()))
        time.sleep(1)
        for entry in list(running):
            process, out, since = entry
            stuck = time.monotonic() - since > 300 + 240
            if process.poll() is None and not stuck:
                continue
            if stuck:
                process.kill()
            process.wait()
            running.remove(entry)
            out.seek(0)
            done, open_case = read_results(out.read())
            out.close()
            results += done
            if open_case is not None:
                end = "stood still" if stuck else f"ended with {process.returncode}"
                kind, number = open_case.rsplit(":", 1)
                findings.append({"kind": kind, "number": int(number), "outcome": f"FINDING the process {end}"})
    findings += [entry for entry in results if entry["outcome"].startswith(("FINDING", "HANG"))]
    return results, findings, time.monotonic() - begin


def report(results, findings, seconds):
    """Counts by kind, for people."""
    print(f"{len(results):,} inputs in {seconds / 60:.1f} minutes, {len(findings)} findings")
    for kind in sorted({entry["kind"] for entry in results}):
        mine = [entry for entry in results if entry["kind"] == kind]
        outcomes = Counter(
            entry["outcome"].split(":")[0] if "FINDING" in entry["outcome"] else entry["outcome"] for entry in mine
        )
        shown = ", ".join(f"{name} {count:,}" for name, count in outcomes.most_common(8))
        slowest = max(entry["seconds"] for entry in mine)
        print(f"  {kind}: {len(mine):,} (slowest {slowest:.1f} s): {shown}")
    for entry in findings[:20]:
        print(f"\n{entry['kind']}:{entry['number']}\n  {entry['outcome']}")
        if entry.get("trace"):
            print("  " + "\n  ".join(entry["trace"].strip().splitlines()[-6:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="first seed; another gives other inputs")
    parser.add_argument("--kind", action="append", help="only this kind; may be repeated")
    parser.add_argument("--replay", action="append", metavar="KIND:NUMBER")
    parser.add_argument("--findings", default="fuzz-findings.jsonl")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work is not None:
        work(arguments.work, arguments.seconds, arguments.kind)
        return 0
    if arguments.replay:
        from fuzz_kinds import warm_up

        warm_up()
        entries = [
            watched(*(kind, int(number))) for kind, _, number in (name.rpartition(":") for name in arguments.replay)
        ]
        for entry in entries:
            print(entry["trace"] or "", f"{entry['kind']}:{entry['number']} {entry['outcome']} {entry['seconds']} s")
        return int(any(entry["trace"] for entry in entries))
    results, findings, seconds = supervise(arguments)
    report(results, findings, seconds)
    if findings:
        Path(arguments.findings).write_text("".join(json.dumps(entry) + "\n" for entry in findings))
        print(f"\n{len(findings)} findings in {arguments.findings}")
    return int(bool(findings))


if __name__ == "__main__":
    raise SystemExit(main())
