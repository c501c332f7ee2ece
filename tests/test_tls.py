"""`stateplan serve --run` beside a network: TLS, a token, and who is turned away.

The server listens on 127.0.0.2, which it takes for an address that others can reach. The
certificate and its key in tests/tls are for these tests alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8"),
]
TLS = Path(__file__).parent / "tls"
CERTIFICATE, KEY = str(TLS / "certificate.pem"), str(TLS / "key.pem")
TOKEN = "what only the invited know"
# Runs a stream as an invited client, then tries to come in otherwise; prints what came of each.
CLIENT = """
import json, sys
import grpc
from pyspark.sql.connect import proto
from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub
from pyspark.sql.connect.session import SparkSession

port, token, folder = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.2:{port}/;use_ssl=true;token={token}").create()
rows = spark.readStream.schema("k string, v int").json(folder)
writer = rows.groupBy("k").sum("v").writeStream.outputMode("complete").format("memory")
query = writer.queryName("sums").trigger(availableNow=True).start()
query.awaitTermination()
told = {"rows": sorted(map(tuple, spark.table("sums").collect()))}
spark.stop()

def tried(channel):
    request = proto.ConfigRequest(session_id="00000000-0000-4000-8000-000000000000")
    request.operation.get_all.SetInParent()
    try:
        SparkConnectServiceStub(channel).Config(request, timeout=10)
    except grpc.RpcError as error:
        return error.code().name
    return "let in"

address, tls = f"127.0.0.2:{port}", grpc.ssl_channel_credentials()
def shown(token):
    return grpc.composite_channel_credentials(tls, grpc.access_token_call_credentials(token))
told["the token"] = tried(grpc.secure_channel(address, shown(token)))
told["another token"] = tried(grpc.secure_channel(address, shown(token[:-1])))
told["no token"] = tried(grpc.secure_channel(address, tls))
told["no TLS"] = tried(grpc.insecure_channel(address))
other = grpc.ssl_channel_credentials(root_certificates=open(sys.argv[0], "rb").read())
told["another authority"] = tried(grpc.secure_channel(address, other))
print(json.dumps(told))
"""


@pytest.fixture
def port(tmp_path: Path) -> Iterator[str]:
    """The port of a server with TLS, by the command line as a user gives it."""
    (tmp_path / "token").write_text(TOKEN + "\n")
    command = [sys.executable, "-m", "stateplan.planner.cli", "serve", "--run", "--port", "0"]
    options = ["--engine", "embedded", "--host", "127.0.0.2", "--token-file", "token"]
    tls = ["--tls-certificate", CERTIFICATE, "--tls-key", KEY]
    server = subprocess.Popen(
        [*command, *options, *tls], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stderr is not None
        told = ""
        for line in server.stderr:
            told += line
            found = re.search(r"sc://127\.0\.0\.2:(\d+)", line)
            if found is not None:
                yield found[1]
                return
        raise AssertionError(told)
    finally:
        server.kill()
        server.communicate()


def test_only_who_shows_the_token_over_tls_comes_in(port: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.json").write_text('{"k": "a", "v": 1}\n{"k": "a", "v": 2}\n')
    client = tmp_path / "client.py"
    client.write_text(CLIENT)
    ended = subprocess.run(
        [sys.executable, str(client), port, TOKEN, str(tmp_path / "in")],
        env={**os.environ, "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": CERTIFICATE},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {
        "rows": [["a", 3]],
        "the token": "let in",
        "another token": "UNAUTHENTICATED",
        "no token": "UNAUTHENTICATED",
        "no TLS": "UNAVAILABLE",
        "another authority": "UNAVAILABLE",
    }
