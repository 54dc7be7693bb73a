//! The very first instructions of the program on x86-64 Linux, before the C library's own.
//!
//! A position-independent program relocates itself: the C library writes an address into every page of the constants
//! that hold pointers, and each first write is a page fault. guard starts before every command, so the kernel is asked
//! for all those pages at once. Nothing else may enter here: there is no stack frame, no library and no relocation yet.
//! `.cargo/link.rs` makes this the entry point.

// `madvise(first, end - first, MADV_POPULATE_WRITE)` from the first page that is relocated (the table of initialisers
// lies at its front) to the end of the zeroed data. A kernel before 5.14 knows no such advice, which changes nothing.
// At the entry the stack pointer leads to the arguments and `rdx` holds what `_start` is to call at the end: both are
// handed on untouched.
core::arch::global_asm!(
    ".pushsection .text.guard_start, \"ax\", @progbits",
    ".globl guard_start",
    ".type guard_start, @function",
    "guard_start:",
    "    mov r8, rdx",
    "    lea rdi, [rip + __init_array_start]",
    "    and rdi, {page}",
    "    lea rsi, [rip + _end]",
    "    sub rsi, rdi",
    "    mov edx, {advice}",
    "    mov eax, {call}",
    "    syscall",
    "    mov rdx, r8",
    "    jmp _start",
    ".popsection",
    page = const -4096_i32,
    advice = const libc::MADV_POPULATE_WRITE,
    call = const libc::SYS_madvise,
);
