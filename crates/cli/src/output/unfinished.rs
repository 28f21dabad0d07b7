//! Temporary files and folders for results. They are removed if the program is stopped before it
//! has finished.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Everything that is listed; whoever creates, renames or removes such a file holds the lock.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn list() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of a path in the list; dropped, it leaves the list.
#[derive(Debug)]
pub(crate) struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        let mut list = list();
        if let Some(at) = list.iter().position(|path| *path == self.0) {
            list.swap_remove(at);
        }
    }
}

/// Creates something and lists its path, before it can be missed.
pub(crate) fn listed<T>(
    create: impl FnOnce() -> io::Result<T>,
    path: impl FnOnce(&T) -> PathBuf,
) -> io::Result<(T, Listed)> {
    let mut list = list();
    let created = create()?;
    let path = path(&created);
    // Whatever becomes of the current folder.
    let path = std::path::absolute(&path).unwrap_or(path);
    list.push(path.clone());
    Ok((created, Listed(path)))
}

/// Does something while nothing is removed.
pub(crate) fn undisturbed<T>(what: impl FnOnce() -> T) -> T {
    let _list = list();
    what()
}

/// Removes all that is listed, files first, and calls `then` before anything else can be created.
pub(crate) fn remove_all<T>(then: impl FnOnce() -> T) -> T {
    let mut list = list();
    remove(&mut list);
    then()
}

fn remove(list: &mut Vec<PathBuf>) {
    let (folders, files): (Vec<_>, Vec<_>) = list.drain(..).partition(|path| path.is_dir());
    for path in files {
        // Gone already, which is as well.
        let _ = std::fs::remove_file(path);
    }
    // The innermost first; one that is not empty stays, which is as well.
    let depth = |path: &PathBuf| path.components().count();
    let mut folders = folders;
    folders.sort_by_key(|path| std::cmp::Reverse(depth(path)));
    for path in folders {
        let _ = std::fs::remove_dir(path);
    }
}

/// A folder for results. If the run fails, the parts of it that we created are removed.
#[derive(Debug)]
pub(crate) struct Folder {
    /// What was made, the innermost first.
    made: Vec<(PathBuf, Listed)>,
}

impl Folder {
    /// Opens the folder at `path`, and makes it if it is missing.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let missing = path.ancestors().take_while(|path| !path.as_os_str().is_empty());
        let missing: Vec<&Path> = missing.take_while(|path| !path.exists()).collect();
        let mut made = Vec::new();
        for path in missing.into_iter().rev() {
            let ((), listed) = listed(|| std::fs::create_dir(path), |()| path.to_path_buf())?;
            made.insert(0, (path.to_path_buf(), listed));
        }
        // Of a path that is there but is no folder.
        std::fs::create_dir_all(path)?;
        Ok(Self { made })
    }

    /// The folder stays.
    pub(crate) fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for (path, _) in &self.made {
            // Refused where the folder is not empty, which is as well.
            let _ = std::fs::remove_dir(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn files_go_before_the_folders_that_they_are_in() {
        let folder = TempDir::new().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("file"), "x").unwrap();
        let mut list = vec![folder.path().join("a"), inner.clone(), inner.join("file")];
        remove(&mut list);
        assert!(list.is_empty() && !folder.path().join("a").exists());
        // What holds results of others stays, and what is gone is no failure.
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("other"), "x").unwrap();
        remove(&mut vec![inner.clone(), folder.path().join("gone")]);
        assert!(inner.join("other").exists());
    }

    #[test]
    fn a_folder_goes_as_far_as_it_was_made() {
        let outer = TempDir::new().unwrap();
        let path = outer.path().join("a/b");
        drop(Folder::create(&path).unwrap());
        assert!(!outer.path().join("a").exists() && outer.path().exists());
        Folder::create(&path).unwrap().keep();
        drop(Folder::create(&path).unwrap());
        assert!(path.exists(), "it was there before");
        std::fs::write(path.join("file"), "x").unwrap();
        assert!(Folder::create(&path.join("file")).is_err());
    }
}
