"""What is done twice, since the first attempt was interrupted, stands there once."""

from isthmus.workspace.running import do_run


def test_a_diagnosis_made_again_replaces_what_an_interrupted_attempt_left(done):
    run = done.runs.start(done.project.id, by=done.by, kind="diagnose")
    first = do_run(done._context, run)
    assert do_run(done._context, run) == first
    assert done.runs.table(run.id, "diagnosis")["verdict"] == first["verdict"]
