"""`retentive bench`: measures Retentive on data that you choose."""

from pathlib import Path
from typing import Annotated

import typer

from retentive.cli import options
from retentive.cli.command import Answer, Where, add_command
from retentive.cli.lines import progress

PEERS = ("bm25", "embedder", "chromadb", "langgraph-memory", "langgraph-sqlite", "mem0", "all")

app = typer.Typer(help="Measure how well and how fast memories are found.", no_args_is_help=True)


async def recall(  # noqa: PLR0913 - the options of a command
    where: Where,  # noqa: ARG001 - only says how to print
    data: Annotated[
        Path, typer.Option(help="Folder with memories.jsonl and questions.jsonl.", metavar="FOLDER")
    ],
    corpus: Annotated[
        list[str] | None, typer.Option(help="Only this corpus; repeat for more.", metavar="ID")
    ] = None,
    audited: Annotated[
        bool, typer.Option("--audited", help="Judge by evidence_audit where a question has it.")
    ] = False,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Also leave out each part of the ranking in turn.")
    ] = False,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            help="Also ask each corpus the questions of another: what min_confidence would do.",
        ),
    ] = False,
    peer: Annotated[
        list[str] | None,
        typer.Option(help=f"Also ask this one; repeat for more: {', '.join(PEERS)}.", metavar="NAME"),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw a bar chart into this .png file.", metavar="FILE")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Store to measure on; else SQLite in a temporary folder.", metavar="URL"),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="Embedder to use; else the one in the package.", metavar="NAME")
    ] = None,
    seed: Annotated[str, typer.Option(help="Seed of the bootstrap.", metavar="N")] = "0",
) -> Answer:
    """Recall quality on a folder of memories and questions: NDCG, recall, hits, MRR, with intervals."""
    from retentive.evaluation.benchmark import Wish, benchmark

    wish = Wish(
        data=data,
        corpora=corpus or (),
        audited=audited,
        ablate=ablate,
        confidence=confidence,
        peers=peer or (),
        plot=plot,
        store=store,
        embedder=embedder,
        seed=options.whole_number("seed", seed, maximum=2**32 - 1),
    )
    report = await benchmark(wish, lambda steps: progress("measuring", steps))
    return Answer(data=report.to_json(), show=report.show, notes=report.notes())


add_command(app, recall, "json")
