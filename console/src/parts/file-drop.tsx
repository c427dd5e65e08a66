import { type DragEvent, type ReactNode, useId, useState } from 'react';
import { t } from '../languages/text.ts';

interface FileDropShape {
  /** What is asked for, in a few words. */
  label: string;
  children?: ReactNode;
  onFile(file: File): void;
}

/** A place to drop a file on, which is also a button that chooses one. */
export function FileDrop({ label, children, onFile }: FileDropShape) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const take = (files: FileList | null) => {
    const [file] = files ?? [];
    if (file !== undefined) onFile(file);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  return (
    <label
      className={isOver ? 'file-drop over' : 'file-drop'}
      htmlFor={id}
      onDragOver={(event) => {
        // Without it the browser opens the file in place of the console.
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <strong>{label}</strong>
      {children}
      <span className="button">{t('Choose a file …')}</span>
      <input
        id={id}
        className="hidden"
        type="file"
        aria-label={label}
        onChange={({ target }) => {
          take(target.files);
          // The same file may be chosen again.
          target.value = '';
        }}
      />
    </label>
  );
}
