import { Autocomplete } from '@base-ui/react/autocomplete';
import { type ReactNode, useId, useState } from 'react';
import { t } from '../../languages/text.ts';
import { findNearest } from '../../rules/nearest.ts';
import { describe, FieldFrame, type Label } from './field.tsx';

interface Suggest extends Label {
  value: string;
  choices: readonly string[];
  placeholder?: string;
  /** What stands there when none matches. */
  empty?: string | undefined;
  onFocus?(): void;
  onBlur?(): void;
  onChange(value: string): void;
}

/** A text that is mostly one of the known ones: it suggests, and takes others too. */
export function SuggestField({ label, isQuiet, hint, mistake, choices, empty, ...shape }: Suggest) {
  const { value, onChange, ...rest } = shape;
  const id = useId();
  return (
    <FieldFrame {...{ id, label, hint, isQuiet, mistake }}>
      <Autocomplete.Root items={choices} value={value} onValueChange={onChange} limit={100} openOnInputClick>
        <Autocomplete.Input id={id} className="input" {...describe(id, { hint, mistake })} {...rest} />
        <Suggestions empty={empty ?? t('No match')}>
          {(choice: string) => (
            <Autocomplete.Item key={choice} value={choice} className="menu-item">
              {choice}
            </Autocomplete.Item>
          )}
        </Suggestions>
      </Autocomplete.Root>
    </FieldFrame>
  );
}

/** The name of an attribute: half of one is not told before the field is left. */
export function AttributeField({ value, onChange, ...shape }: Suggest) {
  const [text, setText] = useState(value);
  const [given, setGiven] = useState(value);
  // What is chosen elsewhere, as on the other side of a match, is shown here.
  if (value !== given) {
    setGiven(value);
    if (value !== '' && value !== text) setText(value);
  }
  const isUnknown = text !== '' && text === value && !shape.choices.includes(text);
  const meant = isUnknown ? findNearest(text, shape.choices) : undefined;
  const take = (name: string) => {
    setText(name);
    onChange(name);
  };
  return (
    <SuggestField
      {...shape}
      hint={
        meant && (
          <button type="button" className="text-button" onClick={() => take(meant)}>
            {t('Did you mean {name}?', { name: meant })}
          </button>
        )
      }
      value={text}
      onChange={(next) => {
        setText(next);
        if (!isHalf(next, shape.choices)) onChange(next);
      }}
      onBlur={() => text !== value && onChange(text)}
    />
  );
}

function isHalf(text: string, names: readonly string[]): boolean {
  const part = text.toLowerCase();
  return text !== '' && !names.includes(text) && names.some((name) => name.toLowerCase().includes(part));
}

/** The list below the field. @param props.children  draws one of them */
export function Suggestions<Item>({ empty, children }: { empty: string; children(item: Item): ReactNode }) {
  return (
    <Autocomplete.Portal>
      <Autocomplete.Positioner className="menu-place" sideOffset={4} align="start">
        <Autocomplete.Popup className="menu match">
          <Autocomplete.Empty>
            <div className="menu-item soft">{empty}</div>
          </Autocomplete.Empty>
          <Autocomplete.List>{children}</Autocomplete.List>
        </Autocomplete.Popup>
      </Autocomplete.Positioner>
    </Autocomplete.Portal>
  );
}
