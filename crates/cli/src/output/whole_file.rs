//! Files that appear under their names when they are complete.
//!
//! On Linux a file has no name at all until then (`O_TMPFILE`), so however the program ends,
//! nothing is left of it: not even after a signal that cannot be caught. Where the file system has
//! no such files, and on other systems, it has a temporary name beside the one that it is to get;
//! the name is in the list of what [`interrupt`](crate::interrupt) removes.
//!
//! A link stays: the file that it leads to is replaced. A file that is replaced keeps its mode.
//! What is no file, such as `/dev/stdout`, `/dev/fd/3` or a pipe, gets the bytes when they are
//! complete.

use super::unfinished::{self, Listed};
use anyhow::{Context, Result};
use flashyard_run::error::wrong;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that appears under its name only when it is complete.
#[derive(Debug)]
pub(crate) struct WholeFile {
    writer: BufWriter<Contents>,
    path: PathBuf,
    /// The stream that gets the bytes in the end, if the path is no file.
    stream: Option<File>,
}

/// Where the contents are until they get their name.
#[derive(Debug)]
enum Contents {
    /// Under no name.
    Unnamed(File),
    /// Under a temporary name.
    Named(NamedTempFile, Listed),
}

impl Contents {
    fn file(&mut self) -> &mut File {
        match self {
            Self::Unnamed(file) => file,
            Self::Named(file, _) => file.as_file_mut(),
        }
    }
}

impl Write for Contents {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file().flush()
    }
}

impl Seek for Contents {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file().seek(to)
    }
}

impl WholeFile {
    /// Opens a file in the directory of `path`, or of what a link there leads to. It will take the
    /// place of a file there. A folder or a socket is refused.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if path.is_dir() || is_socket(path) {
            return Err(wrong(&format!(
                "{}: it is there and is no file; name a file to write",
                path.display()
            )));
        }
        if let Some(stream) = stream(path).with_context(|| cannot(path))? {
            let contents = Contents::Unnamed(tempfile::tempfile().with_context(|| cannot(path))?);
            let (writer, path) = (BufWriter::new(contents), path.to_path_buf());
            return Ok(Self { writer, path, stream: Some(stream) });
        }
        let path = followed(path);
        let contents = match unnamed_in(folder_of(&path)) {
            Some(file) => Contents::Unnamed(file),
            None => named_in(folder_of(&path)).with_context(|| cannot(&path))?,
        };
        Ok(Self { writer: BufWriter::new(contents), path, stream: None })
    }

    /// A file with this text; it has yet to get its name.
    pub(crate) fn of(path: &Path, text: &str) -> Result<Self> {
        let mut file = Self::create(path)?;
        file.write_all(text.as_bytes()).with_context(|| cannot(path))?;
        Ok(file)
    }

    /// Puts other bytes in the place of the first ones.
    pub(crate) fn overwrite_start(&mut self, bytes: &[u8]) -> Result<()> {
        let say = || cannot(&self.path);
        self.writer.seek(SeekFrom::Start(0)).with_context(say)?;
        self.writer.write_all(bytes).with_context(say)
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> Result<()> {
        let say = || cannot(&self.path);
        let contents = self.writer.into_inner().map_err(std::io::IntoInnerError::into_error);
        let mut contents = contents.with_context(say)?;
        if let Some(mut stream) = self.stream {
            let file = contents.file();
            file.seek(SeekFrom::Start(0)).with_context(say)?;
            return match std::io::copy(file, &mut stream) {
                // A reader that has gone away is no failure.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                copied => copied.map(drop).with_context(say),
            };
        }
        if let Ok(old) = std::fs::metadata(&self.path) {
            contents.file().set_permissions(old.permissions()).with_context(say)?;
        }
        match contents {
            Contents::Unnamed(file) => link(file, &self.path).with_context(say),
            Contents::Named(file, listed) => persist(file, listed, &self.path).with_context(say),
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}

fn cannot(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}

/// Opens what is at `path`, if it is no file or is open for writing already.
fn stream(path: &Path) -> std::io::Result<Option<File>> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let number = path.strip_prefix("/dev/fd").or_else(|_| path.strip_prefix("/proc/self/fd"));
        let open = match (path.to_str(), number.ok().and_then(Path::to_str)) {
            (Some("/dev/stdout"), _) | (_, Some("1")) => {
                Some(std::io::stdout().as_fd().try_clone_to_owned())
            }
            (Some("/dev/stderr"), _) | (_, Some("2")) => {
                Some(std::io::stderr().as_fd().try_clone_to_owned())
            }
            (_, Some(_)) => return File::options().append(true).open(path).map(Some),
            _ => None,
        };
        if let Some(open) = open {
            return open.map(|open| Some(File::from(open)));
        }
    }
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => File::options().write(true).open(path).map(Some),
        _ => Ok(None),
    }
}

#[cfg(unix)]
fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|there| there.file_type().is_socket())
}

#[cfg(not(unix))]
fn is_socket(_: &Path) -> bool {
    false
}

/// Returns the path that a link leads to. Another path stays as it is.
fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // As many as Linux follows.
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => break,
        }
    }
    path
}

fn folder_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or_else(|| Path::new("."))
}

/// Gives a file with a temporary name its own one.
fn persist(file: NamedTempFile, listed: Listed, path: &Path) -> std::io::Result<()> {
    // What is being renamed is not removed in the meantime.
    unfinished::undisturbed(|| file.persist(path))?;
    drop(listed);
    Ok(())
}

/// A file with a temporary name in `folder`.
fn named_in(folder: &Path) -> std::io::Result<Contents> {
    let named = || new_file().tempfile_in(folder);
    let (file, listed) = unfinished::listed(named, |file| file.path().to_path_buf())?;
    Ok(Contents::Named(file, listed))
}

/// A temporary file that ends up with the rights of any new file.
fn new_file() -> tempfile::Builder<'static, 'static> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

/// Creates a file without a name in the file system of `folder`. Some file systems have no such
/// files.
#[cfg(target_os = "linux")]
fn unnamed_in(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    // It gets its name through this directory.
    Path::new("/proc/self/fd").exists().then_some(())?;
    rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)).ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn unnamed_in(_: &Path) -> Option<File> {
    None
}

/// Gives a file without a name one: at once where the name is free, else under a temporary name,
/// which then takes the place of the other file. Where the file system refuses, by copying.
#[cfg(target_os = "linux")]
fn link(file: File, path: &Path) -> std::io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd;
    let here = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |to: &Path| linkat(CWD, &here, CWD, to, AtFlags::SYMLINK_FOLLOW);
    match link(path) {
        Ok(()) => return Ok(()),
        Err(rustix::io::Errno::EXIST) => {}
        Err(_) => return copy(file, path),
    }
    let linked = || new_file().make_in(folder_of(path), |name| Ok(link(name)?));
    let (linked, listed) = unfinished::listed(linked, |linked| linked.path().to_path_buf())?;
    unfinished::undisturbed(|| linked.persist(path)).map_err(std::io::Error::from)?;
    drop(listed);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn link(file: File, path: &Path) -> std::io::Result<()> {
    copy(file, path)
}

/// Copies a file to where it is to be.
fn copy(mut file: File, path: &Path) -> std::io::Result<()> {
    let Contents::Named(mut named, listed) = named_in(folder_of(path))? else {
        unreachable!("it has a name")
    };
    file.seek(SeekFrom::Start(0))?;
    std::io::copy(&mut file, named.as_file_mut())?;
    persist(named, listed, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn names(folder: &TempDir) -> Vec<String> {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// A file of both kinds: of a file system with files that have no names, and without.
    fn both(path: &Path) -> Vec<WholeFile> {
        let unnamed = unnamed_in(folder_of(path)).map(Contents::Unnamed);
        let named = named_in(folder_of(path)).unwrap();
        let whole = |contents| WholeFile {
            writer: BufWriter::new(contents),
            path: path.to_path_buf(),
            stream: None,
        };
        unnamed.into_iter().chain([named]).map(whole).collect()
    }

    #[test]
    fn a_file_appears_when_it_is_complete_and_takes_the_place_of_another() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("result");
        for (round, mut file) in both(&path).into_iter().chain(both(&path)).enumerate() {
            let text = format!("round {round}");
            file.write_all(b"?").unwrap();
            file.write_all(&text.as_bytes()[1..]).unwrap();
            file.overwrite_start(b"r").unwrap();
            let before = std::fs::read_to_string(&path).ok();
            assert_ne!(before.as_ref(), Some(&text), "not before it is finished");
            file.finish().unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(&folder), ["result"]);
    }

    /// A link leads to the new file, which keeps the mode of the one before.
    #[cfg(unix)]
    #[test]
    fn links_and_modes_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = TempDir::new().unwrap();
        let [path, link, free] = ["result", "link", "free"].map(|name| folder.path().join(name));
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        symlink("result", &link).unwrap();
        symlink("new", &free).unwrap();
        for link in [&link, &free] {
            let mut file = WholeFile::create(link).unwrap();
            file.write_all(b"new").unwrap();
            file.finish().unwrap();
            assert!(std::fs::symlink_metadata(link).unwrap().is_symlink());
            assert_eq!(std::fs::read_to_string(link).unwrap(), "new");
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(folder.path().join("new").is_file());
    }

    #[test]
    fn what_is_dropped_leaves_nothing() {
        let folder = TempDir::new().unwrap();
        for mut file in both(&folder.path().join("result")) {
            file.write_all(&vec![7; 100_000]).unwrap();
        }
        assert_eq!(names(&folder), [""; 0]);
    }

    #[test]
    fn a_file_that_cannot_be_linked_is_copied() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("result");
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"contents").unwrap();
        copy(file, &path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"contents");
        assert_eq!(names(&folder), ["result"]);
    }
}
