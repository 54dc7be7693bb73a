//! Whether a directory lies on a file system that several machines, or a process in user space, may change.
//!
//! The write-ahead log keeps an index in memory that all processes share. Across machines there is no such memory, and
//! many file systems in user space do not offer it either: there, a rollback journal is used.

use std::path::Path;

/// Whether shared memory and locks may be trusted there. A file system that does not tell its kind is trusted.
#[cfg(target_os = "linux")]
pub(super) fn is_shared(directory: &Path) -> bool {
    /// From linux/magic.h and the file systems' own headers: NFS, SMB (three generations), 9P, FUSE (sshfs and all
    /// others), Ceph, AFS (two), Coda, NCP, GFS2, OCFS2, Lustre, GPFS, VirtualBox, VMware.
    const SHARED: [u32; 17] = [
        0x6969,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x0102_1997,
        0x6573_5546,
        0x00C3_6400,
        0x5346_414F,
        0x6B41_4653,
        0x7375_7245,
        0x564C,
        0x0116_1970,
        0x7461_636F,
        0x0BD0_0BD0,
        0x4750_4653,
        0x786F_4256,
        0xBACB_ACBC,
    ];
    let Ok(about) = nix::sys::statfs::statfs(directory) else { return false };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "magic numbers have 32 bits")]
    let kind = about.filesystem_type().0 as u32;
    SHARED.contains(&kind)
}

/// Whether shared memory and locks may be trusted there. A file system that does not tell its kind is trusted.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_shared(directory: &Path) -> bool {
    nix::sys::statfs::statfs(directory).is_ok_and(|about| {
        ["nfs", "smbfs", "afpfs", "webdav", "osxfuse", "macfuse", "fusefs"].contains(&about.filesystem_type_name())
    })
}
