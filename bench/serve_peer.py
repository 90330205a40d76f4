#!/usr/bin/env python3
"""Search with sentence-transformers behind a plain server, to compare with: python3 bench/serve_peer.py TITLES.tsv

bench/serve.py starts it. `GET /search?q=…` encodes the query with all-MiniLM-L6-v2 and compares it with a vector for each title.
These are random: how long it takes does not depend on the numbers. Prints its address.
"""
import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import socket
import sys

import needed

needed.packages("torch", "sentence_transformers", "starlette", "uvicorn")

import numpy
import uvicorn
from minilm import packaged_model
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

FOUND = 10


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        titles = [line.rstrip("\n").split("\t")[1] for line in lines][1:]
    model = packaged_model()
    vectors = numpy.random.default_rng(1).standard_normal((len(titles), model.get_embedding_dimension()), dtype=numpy.float32)

    # Not `async`: the framework runs it on its threads.
    def search(request):
        query = model.encode([request.query_params["q"]], show_progress_bar=False)[0]
        scores = vectors @ query
        best = numpy.argpartition(-scores, FOUND)[:FOUND]
        best = best[numpy.argsort(-scores[best])]
        return JSONResponse({"results": [{"title": titles[place], "score": float(scores[place])} for place in best]})

    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=[Route("/search", search)]), log_level="error"))
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
