// What ends a launch: a trap, and functions of the host that would end the process, make another one
// of it, leave the kernel, or take the signals by which it is stopped; and exceptions of the C++
// library, which units are not linked with.
//
// Who links a unit says that `exit` means `__wrap_exit`, and so on, however it is called. A function of
// the user's own that has such a name is none of them. In functions over elements each is a trap.
#pragma once
#ifndef KERNELTK_PLAIN_ENDS
#include <kerneltk/host_grid.hpp>

[[noreturn]] __attribute__((cold)) inline void _kt_trapped(const char* file, int line) {
    kerneltk::grid::own_engine->runtime->assertion(kerneltk::grid::own_engine, " trapped", file,
                                                   line);
    __builtin_unreachable();
}
#define __trap() _kt_trapped(__FILE__, __LINE__)
#endif

// Where all of them go on: it returns to who called the function of that name.
extern "C" __attribute__((__visibility__("hidden"), __cold__, __noinline__, __noreturn__, __used__))
inline void _kt_ended(const char* name) {
#ifdef KERNELTK_PLAIN_ENDS
    __builtin_trap();
#else
    ::kerneltk::grid::own_engine->runtime->ended(::kerneltk::grid::own_engine, name,
                                                 __builtin_return_address(0));
    __builtin_unreachable();
#endif
}

// Each is two instructions: as a function of C++ it would take a compiler a millisecond or more.
#ifdef __x86_64__
#define KERNELTK_GO_ON "leaq 1f(%rip), %rdi\n jmp _kt_ended\n"
#else
#define KERNELTK_GO_ON "adrp x0, 1f\n add x0, x0, :lo12:1f\n b _kt_ended\n"
#endif
#define KERNELTK_ENDS(symbol, name)                                                                \
    asm(".text\n.balign 16\n.globl __wrap_" #symbol "\n.hidden __wrap_" #symbol                     \
        "\n.type __wrap_" #symbol ", %function\n__wrap_" #symbol ":\n" KERNELTK_GO_ON              \
        "1: .asciz \"" name "\"\n");
#define KERNELTK_FUNCTIONS(one) \
    one(exit) one(_exit) one(_Exit) one(quick_exit) one(abort) one(atexit) one(at_quick_exit) \
    one(pthread_exit) one(raise) one(kill) one(killpg) one(tgkill) one(pthread_kill) \
    one(sigqueue) one(execl) one(execle) one(execlp) one(execv) one(execve) one(execvp) \
    one(execvpe) one(fexecve) one(fork) one(vfork) one(err) one(errx) one(verr) one(verrx) \
    one(error) one(error_at_line) one(syscall) one(system) one(popen) one(posix_spawn) \
    one(posix_spawnp) one(clone) one(daemon) one(alarm) one(ualarm) one(setitimer) \
    one(setrlimit) one(signal) one(sigaction) one(sigprocmask) one(pthread_sigmask) \
    one(pthread_cancel) one(thrd_exit) one(longjmp) one(_longjmp) one(siglongjmp)
#define KERNELTK_ENDS_AS_NAMED(name) KERNELTK_ENDS(name, #name)
KERNELTK_FUNCTIONS(KERNELTK_ENDS_AS_NAMED)
KERNELTK_ENDS(_ZSt9terminatev, "std::terminate")
KERNELTK_ENDS(__cxa_throw, "throw")
KERNELTK_ENDS(_ZSt16__throw_bad_castv, "std::__throw_bad_cast")
KERNELTK_ENDS(_ZSt17__throw_bad_allocv, "std::__throw_bad_alloc")
KERNELTK_ENDS(_ZSt19__throw_logic_errorPKc, "std::__throw_logic_error")
KERNELTK_ENDS(_ZSt19__throw_range_errorPKc, "std::__throw_range_error")
KERNELTK_ENDS(_ZSt20__throw_domain_errorPKc, "std::__throw_domain_error")
KERNELTK_ENDS(_ZSt20__throw_length_errorPKc, "std::__throw_length_error")
KERNELTK_ENDS(_ZSt20__throw_out_of_rangePKc, "std::__throw_out_of_range")
KERNELTK_ENDS(_ZSt20__throw_system_errori, "std::__throw_system_error")
KERNELTK_ENDS(_ZSt21__throw_bad_exceptionv, "std::__throw_bad_exception")
KERNELTK_ENDS(_ZSt21__throw_runtime_errorPKc, "std::__throw_runtime_error")
KERNELTK_ENDS(_ZSt22__throw_overflow_errorPKc, "std::__throw_overflow_error")
KERNELTK_ENDS(_ZSt24__throw_invalid_argumentPKc, "std::__throw_invalid_argument")
KERNELTK_ENDS(_ZSt24__throw_out_of_range_fmtPKcz, "std::__throw_out_of_range_fmt")
KERNELTK_ENDS(_ZSt25__throw_bad_function_callv, "std::__throw_bad_function_call")
KERNELTK_ENDS(_ZSt28__throw_bad_array_new_lengthv, "std::__throw_bad_array_new_length")
#undef KERNELTK_ENDS_AS_NAMED
#undef KERNELTK_FUNCTIONS
#undef KERNELTK_ENDS
#undef KERNELTK_GO_ON

#ifdef KERNELTK_LINES
// Tells who loads the unit that it has tables of lines.
extern "C" __attribute__((__visibility__("default"), __used__)) const char _kt_lines = 1;
#endif
