"""Numbers of lines behind branches that a compiler skips."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.preprocessor.line_numbers import with_numbers_behind_branches


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("#if A\n#endif\nint a;\n", "#if A\n#endif\nint a;\n"),
        (
            '#if A\n#line 1 "a.h"\n#line 3 "m.cu"\n#elif \\\nB\n#else\n#endif\n',
            '#if A\n#line 1 "a.h"\n#line 3 "m.cu"\n#elif \\\nB\n#line 5 "m.cu"\n'
            '#else\n#line 6 "m.cu"\n#endif\n#line 7 "m.cu"\n',
        ),
        # Those that the user wrote may mean another file.
        ('#if A\n#line 9 "b.y"\n#endif\n', '#if A\n#line 9 "b.y"\n#endif\n'),
        ("#if A\n#line 9\n#endif\n", "#if A\n#line 9\n#endif\n"),
    ],
)
def test_numbers_behind_branches(source: str, wanted: str) -> None:
    assert with_numbers_behind_branches(source, "m.cu") == wanted
