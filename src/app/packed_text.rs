//! Long texts that are only printed or read on request. The build script compresses them, so that the program is
//! smaller.

/// A compressed text.
#[derive(Clone, Copy, Debug)]
pub struct PackedText(&'static [u8]);

impl PackedText {
    /// Creates a text from bytes that the build script wrote, without reading them.
    #[must_use]
    pub const fn new(bytes: &'static [u8]) -> Self {
        Self(bytes)
    }

    /// Decompresses the text.
    #[must_use]
    pub fn text(self) -> String {
        // A test reads every text, so the default is that of a damaged program.
        let bytes = miniz_oxide::inflate::decompress_to_vec(self.0).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// Returns the text with this base name: see `.cargo/texts.rs`.
macro_rules! packed_text {
    ($name:literal) => {
        $crate::app::packed_text::PackedText::new(include_bytes!(concat!(env!("OUT_DIR"), "/", $name)))
    };
}
pub(crate) use packed_text;
