import { Autocomplete } from '@base-ui/react/autocomplete';
import { useId } from 'react';
import { describe, Hint, type Label } from './field.tsx';

interface Suggest extends Label {
  value: string;
  choices: readonly string[];
  placeholder?: string;
  /** What stands there when none matches. */
  empty?: string | undefined;
  onFocus?(): void;
  onChange(value: string): void;
}

/** A text that is mostly one of the known ones: it suggests, and takes others too. */
export function SuggestField({ label, isQuiet, hint, mistake, choices, empty, ...shape }: Suggest) {
  const { value, onChange, ...rest } = shape;
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id} className={isQuiet ? 'hidden' : undefined}>
        {label}
      </label>
      <Autocomplete.Root items={choices} value={value} onValueChange={onChange} limit={100} openOnInputClick>
        <Autocomplete.Input id={id} className="input" {...describe(id, { hint, mistake })} {...rest} />
        <Autocomplete.Portal>
          <Autocomplete.Positioner className="menu-place" sideOffset={4}>
            <Autocomplete.Popup className="menu match">
              <Autocomplete.Empty>
                <div className="menu-item soft">{empty ?? 'No match'}</div>
              </Autocomplete.Empty>
              <Autocomplete.List>
                {(choice: string) => (
                  <Autocomplete.Item key={choice} value={choice} className="menu-item">
                    {choice}
                  </Autocomplete.Item>
                )}
              </Autocomplete.List>
            </Autocomplete.Popup>
          </Autocomplete.Positioner>
        </Autocomplete.Portal>
      </Autocomplete.Root>
      <Hint id={id} mistake={mistake}>
        {hint}
      </Hint>
    </div>
  );
}
