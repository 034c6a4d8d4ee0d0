"""A slice of the fuzzer; ``make fuzz`` runs 5,000 requests."""

import fuzz_api


def test_no_odd_request_brings_the_server_down(server, workspace):
    bad, seen = fuzz_api.fuzz(server.client(), fuzz_api.known_ids(workspace), fuzz_api.page_routes(server), 300, seed=1)
    assert bad == []
    assert seen[200] > 80
    assert seen[422] > 20
    assert seen[403] == 0  # none was turned away at the door
