// What ends a launch: a trap, and functions of the host that would end the process or make another
// one of it.
//
// Who links a unit says that `exit` means `__wrap_exit`, and so on, however it is called. A function of
// the user's own that has such a name is none of them. In functions over elements each is a trap.
#pragma once
#ifdef KERNELTK_PLAIN_ENDS
#define KERNELTK_END(name) __builtin_trap()
#else
#include <kerneltk/host_grid.hpp>

#define KERNELTK_END(name)                                                                        \
    ::kerneltk::grid::own_engine->runtime->ended(::kerneltk::grid::own_engine, name,              \
                                                 __builtin_return_address(0));                    \
    __builtin_unreachable()

[[noreturn]] __attribute__((cold)) inline void _kt_trapped(const char* file, int line) {
    kerneltk::grid::own_engine->runtime->assertion(kerneltk::grid::own_engine, " trapped", file,
                                                   line);
    __builtin_unreachable();
}
#define __trap() _kt_trapped(__FILE__, __LINE__)
#endif

#define KERNELTK_ENDS(symbol, name)                                                             \
    extern "C" __attribute__((__visibility__("hidden"), __cold__, __noinline__, __noreturn__))  \
    void __wrap_##symbol() {                                                                    \
        KERNELTK_END(name);                                                                     \
    }
KERNELTK_ENDS(exit, "exit")
KERNELTK_ENDS(_exit, "_exit")
KERNELTK_ENDS(_Exit, "_Exit")
KERNELTK_ENDS(quick_exit, "quick_exit")
KERNELTK_ENDS(abort, "abort")
KERNELTK_ENDS(_ZSt9terminatev, "std::terminate")
KERNELTK_ENDS(atexit, "atexit")
KERNELTK_ENDS(at_quick_exit, "at_quick_exit")
KERNELTK_ENDS(pthread_exit, "pthread_exit")
KERNELTK_ENDS(raise, "raise")
KERNELTK_ENDS(kill, "kill")
KERNELTK_ENDS(killpg, "killpg")
KERNELTK_ENDS(tgkill, "tgkill")
KERNELTK_ENDS(pthread_kill, "pthread_kill")
KERNELTK_ENDS(sigqueue, "sigqueue")
KERNELTK_ENDS(execl, "execl")
KERNELTK_ENDS(execle, "execle")
KERNELTK_ENDS(execlp, "execlp")
KERNELTK_ENDS(execv, "execv")
KERNELTK_ENDS(execve, "execve")
KERNELTK_ENDS(execvp, "execvp")
KERNELTK_ENDS(execvpe, "execvpe")
KERNELTK_ENDS(fexecve, "fexecve")
KERNELTK_ENDS(fork, "fork")
KERNELTK_ENDS(vfork, "vfork")
KERNELTK_ENDS(err, "err")
KERNELTK_ENDS(errx, "errx")
KERNELTK_ENDS(verr, "verr")
KERNELTK_ENDS(verrx, "verrx")
KERNELTK_ENDS(error, "error")
KERNELTK_ENDS(error_at_line, "error_at_line")
#undef KERNELTK_ENDS
#undef KERNELTK_END

#ifdef KERNELTK_LINES
// Tells who loads the unit that it has tables of lines.
extern "C" __attribute__((__visibility__("default"), __used__)) const char _kt_lines = 1;
#endif
