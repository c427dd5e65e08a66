import { type ReactNode, useEffect, useRef } from 'react';
import { Button, IconButton } from '../button.tsx';

/** What a row is made of, and the cross that takes it away. */
export interface Row<Value> {
  readonly value: Value;
  readonly at: number;
  readonly remove: ReactNode;
  change(next: Value): void;
}

interface Shape<Value> {
  values: readonly Value[];
  /** What the crosses do: `Remove this match`. */
  removing: string;
  /** What can be added, by the words of its button. */
  kinds: Readonly<Record<string, Value>>;
  onChange(values: readonly Value[]): void;
  children(row: Row<Value>): ReactNode;
}

/**
 * A list that is edited in place. A row keeps its key when another one goes: by its position it would show what was typed
 * into the one before. The keyboard stays where something happened.
 */
export function Rows<Value>({ values, removing, kinds, onChange, children }: Shape<Value>) {
  const list = useRef<HTMLDivElement>(null);
  const keys = useRowKeys(values.length);
  const focus = useRef<(rows: readonly Element[]) => Element | null | undefined>(undefined);

  useEffect(() => {
    const rows = [...(list.current?.children ?? [])];
    const found = focus.current?.(rows);
    if (found instanceof HTMLElement) found.focus();
    focus.current = undefined;
  });

  const remove = (at: number) => {
    keys.remove(at);
    focus.current = (rows) => {
      const next = rows[Math.min(at, rows.length - 2)] ?? rows[0];
      // A row of rows has crosses of its own before the one that takes it away.
      return [...(next?.querySelectorAll('.button.icon') ?? [])].at(-1) ?? next?.querySelector('button');
    };
    onChange(values.toSpliced(at, 1));
  };
  const add = (value: Value) => {
    focus.current = (rows) => rows.at(-2)?.querySelector('input, select, button');
    onChange([...values, value]);
  };

  return (
    <div ref={list} className="stack">
      {values.map((value, at) => (
        <div key={keys.of(at)}>
          {children({
            ...{ value, at },
            change: (next) => onChange(values.with(at, next)),
            remove: <IconButton icon="cross" label={removing} onClick={() => remove(at)} />,
          })}
        </div>
      ))}
      <div className="row">
        {Object.entries(kinds).map(([words, value]) => (
          <Button key={words} icon="plus" look="quiet" onClick={() => add(value)}>
            {words}
          </Button>
        ))}
      </div>
    </div>
  );
}

function useRowKeys(count: number) {
  const keys = useRef<number[]>([]);
  const last = useRef(0);
  while (keys.current.length < count) keys.current.push(last.current++);
  keys.current.length = count;
  return {
    of: (at: number) => keys.current[at],
    remove: (at: number) => void keys.current.splice(at, 1),
  };
}
