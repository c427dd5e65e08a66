/** A file that was dropped on one view and is read on another: an address cannot carry it. */
let handed: File | undefined;

export function handFile(file: File): void {
  handed = file;
}

/** @returns the file, and the next caller gets none */
export function takeFile(): File | undefined {
  const file = handed;
  handed = undefined;
  return file;
}
