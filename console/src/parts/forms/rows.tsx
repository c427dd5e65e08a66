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
 * into the one before. The keyboard goes to a row that comes; of one that goes, see keep-focus.ts.
 */
export function Rows<Value>({ values, removing, kinds, onChange, children }: Shape<Value>) {
  const list = useRef<HTMLDivElement>(null);
  const keys = useRowKeys(values.length);
  const isAdding = useRef(false);

  useEffect(() => {
    if (!isAdding.current) return;
    isAdding.current = false;
    const added = list.current?.children[values.length - 1];
    added?.querySelector<HTMLElement>('input, select, button')?.focus();
  });

  const remove = (at: number) => {
    keys.remove(at);
    onChange(values.toSpliced(at, 1));
  };
  const add = (value: Value) => {
    isAdding.current = true;
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
