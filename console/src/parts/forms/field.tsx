import { Switch } from '@base-ui/react/switch';
import {
  type ComponentProps,
  createContext,
  type FormEvent,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { t } from '../../languages/text.ts';
import { useMistake } from '../../state/mistakes.ts';
import { useRights } from '../../state/rights.ts';
import { Button, IconButton } from '../button.tsx';

export interface Label {
  label: string;
  hint?: ReactNode;
  /** Whether the label is for screen readers only. */
  isQuiet?: boolean;
  /** The service's reason for refusing the value. */
  mistake?: string | undefined;
}

/** Ties the text below a field to it, for screen readers too. */
export const describe = (id: string, { hint, mistake }: Pick<Label, 'hint' | 'mistake'>) => ({
  'aria-describedby': hint || mistake ? `${id}-hint` : undefined,
  'aria-invalid': mistake ? true : undefined,
});

/** A label above an input, and a hint below it. @param props.id of the input */
export function FieldFrame({
  id,
  label,
  hint,
  isQuiet,
  mistake,
  children,
}: Label & { id: string; children: ReactNode }) {
  return (
    <div className="field">
      <label htmlFor={id} className={isQuiet ? 'hidden' : undefined}>
        {label}
      </label>
      {children}
      <Hint id={id} mistake={mistake}>
        {hint}
      </Hint>
    </div>
  );
}

/** The placeholder of an empty read-only field. */
const NOTHING = { placeholder: '—' };

/** An HTML element as a field: it passes the typed value on, not the event. */
type FieldOf<Element extends 'input' | 'select' | 'textarea', Value extends string = string> = Label &
  Omit<ComponentProps<Element>, 'value' | 'onChange'> & {
    value?: Value | undefined;
    onChange?(value: Value): void;
  };

export function TextField({ label, hint, isQuiet, mistake, onChange, ...rest }: FieldOf<'input'>) {
  const id = useId();
  const isLocked = useLocked();
  const [invalid, setInvalid] = useState<string>();
  const shown = mistake ?? invalid;
  return (
    <FieldFrame {...{ id, label, hint, isQuiet }} mistake={shown}>
      <input
        id={id}
        className="input"
        {...describe(id, { hint, mistake: shown })}
        autoComplete="off"
        {...rest}
        {...(isLocked && NOTHING)}
        onInvalid={(event) => setInvalid(refuseHere(event))}
        onChange={({ target }) => {
          setInvalid(undefined);
          onChange?.(target.value);
        }}
      />
    </FieldFrame>
  );
}

/** The field for the name of a definition, project or key. */
export const OwnNameField = (field: Omit<FieldOf<'input'>, 'label'> & { label?: string }) => (
  <TextField label={t('Name')} maxLength={255} required {...field} />
);

/** Shows a refusal of the browser like one of the service: below the field, with focus on the first. */
function refuseHere(event: FormEvent<HTMLInputElement>): string {
  event.preventDefault();
  const { form, validity, title, validationMessage } = event.currentTarget;
  if (form?.querySelector(':invalid') === event.currentTarget) event.currentTarget.focus();
  if (validity.valueMissing) return t('must not be empty');
  return validity.patternMismatch && title ? title : validationMessage;
}

/** The props of fields that hold one text. */
export interface TextShape {
  label: string;
  value: string;
  onChange(value: string): void;
}

interface FileShape extends Label {
  accept?: string;
  /** Undefined when the file was removed. */
  onChange(file: File | undefined): void;
}

export function FileField({ label, hint, accept, onChange }: FileShape) {
  const id = useId();
  return (
    <FieldFrame {...{ id, label, hint }}>
      <input
        id={id}
        className="input"
        type="file"
        accept={accept}
        {...describe(id, { hint })}
        onChange={({ target }) => onChange(target.files?.[0])}
      />
    </FieldFrame>
  );
}

/**
 * @param path of the draft in the request: `/trigger`
 * @returns a function that gives a field the value of a part, its setter, and the reason for a refusal
 */
export function useBinding<Draft extends object>(
  draft: Draft,
  change: (changed: Partial<Draft>) => void,
  path = '',
) {
  const mistake = useMistake();
  return <Name extends keyof Draft & string>(name: Name) => ({
    value: draft[name],
    mistake: mistake(`${path}/${name}`),
    onChange(value: Draft[Name]): void {
      const changed: Partial<Draft> = {};
      changed[name] = value;
      change(changed);
    },
  });
}

/** The name of a list item, changed on leaving the field: half of it may be the name of another item. */
export function NameField({ label, value, onChange }: TextShape) {
  const [text, setText] = useState(value);
  return (
    <TextField
      label={label}
      isQuiet
      value={text}
      maxLength={255}
      onChange={setText}
      onBlur={() => onChange(text)}
    />
  );
}

interface TextsShape extends Label {
  value: readonly string[];
  placeholder?: string;
  onChange(value: string[]): void;
}

/** @returns the texts between commas */
export const readTexts = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** Several texts, separated by commas. */
export function TextsField({ value, onChange, ...rest }: TextsShape) {
  const [text, setText] = useState(value.join(', '));
  const read = (next: string) => {
    setText(next);
    onChange(readTexts(next));
  };
  return <TextField {...rest} value={text} onChange={read} />;
}

interface NumberShape extends Label, Pick<ComponentProps<'input'>, 'min' | 'max' | 'step' | 'placeholder'> {
  value: number | undefined;
  onChange(value: number | undefined): void;
}

/** A number, or nothing. */
export const NumberField = ({ value, onChange, ...rest }: NumberShape) => (
  <TextField
    min={0}
    step="any"
    {...rest}
    type="number"
    value={String(value ?? '')}
    onChange={(text) => onChange(text === '' ? undefined : Number(text))}
  />
);

/** A whole number from 1 on. */
export const CountField = (field: NumberShape) => <NumberField min={1} step={1} {...field} />;

/** Browsers show the title when the input does not match. */
export function LocaleField(field: Pick<FieldOf<'input'>, 'value' | 'onChange'>) {
  const hint = t('Language and country, for example de-DE');
  const shape = { label: t('Locale'), pattern: '[a-z]{2,3}-[A-Z]{2}', title: hint, hint, required: true };
  return <TextField {...shape} {...field} />;
}

export function AreaField({ label, hint, isQuiet, mistake, onChange, ...rest }: FieldOf<'textarea'>) {
  const id = useId();
  return (
    <FieldFrame {...{ id, label, hint, isQuiet, mistake }}>
      <textarea
        id={id}
        className="input"
        {...describe(id, { hint, mistake })}
        {...rest}
        onChange={({ target }) => onChange?.(target.value)}
      />
    </FieldFrame>
  );
}

export type Choice<Value extends string = string> = readonly [value: Value, words: string];

export function SelectField<Value extends string>({
  label,
  hint,
  isQuiet,
  mistake,
  choices,
  onChange,
  ...rest
}: FieldOf<'select', Value> & { choices: readonly Choice<Value>[] }) {
  const id = useId();
  return (
    <FieldFrame {...{ id, label, hint, isQuiet, mistake }}>
      <select
        id={id}
        className="input"
        {...describe(id, { hint, mistake })}
        {...rest}
        onChange={({ target }) => onChange?.(target.value as Value)}
      >
        {choices.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </FieldFrame>
  );
}

export function SwitchField({
  label,
  hint,
  value = false,
  onChange,
}: Label & { value: boolean | undefined; onChange(value: boolean): void }) {
  const id = useId();
  const isLocked = useLocked();
  return (
    <div className="field">
      <div className="row">
        <Switch.Root
          disabled={isLocked}
          className="switch"
          checked={value}
          onCheckedChange={onChange}
          id={id}
          aria-describedby={hint ? `${id}-hint` : undefined}
        >
          <Switch.Thumb className="switch-thumb" />
        </Switch.Root>
        <label htmlFor={id} className="label">
          {label}
        </label>
      </div>
      <Hint id={id}>{hint}</Hint>
    </div>
  );
}

const Hint = ({ id, mistake, children }: Pick<Label, 'mistake'> & { id: string; children: ReactNode }) =>
  children || mistake ? (
    <p id={`${id}-hint`} className="hint">
      {mistake && <span className="mistake">{mistake}</span>} {children}
    </p>
  ) : null;

const LockedContext = createContext(false);

/** Whether fields here are read-only. */
export const useLocked = (): boolean => useContext(LockedContext);

/** Fields of a stored definition: users who may not save it see plain text in place of inputs. */
export function Fields({ children }: { children: ReactNode }) {
  const { canChange } = useRights();
  return (
    <LockedContext value={!canChange}>
      <fieldset className="stack wide locks" disabled={!canChange}>
        {children}
      </fieldset>
    </LockedContext>
  );
}

/** The parts of a row, with the cross that removes it. */
export interface Row<Value> {
  readonly value: Value;
  readonly index: number;
  readonly remove: ReactNode;
  change(next: Value): void;
}

interface Shape<Value> {
  values: readonly Value[];
  /** The label of the crosses: `Remove this match`. */
  removing: string;
  /** The kinds of rows that can be added, by the label of their button. */
  kinds: Readonly<Record<string, Value>>;
  onChange(values: readonly Value[]): void;
  children(row: Row<Value>): ReactNode;
}

/**
 * A list that is edited in place. A row keeps its key when another row is removed. With its position as the
 * key, it would show the text of the row before. A new row takes focus; `keepFocus` of the shell handles
 * removed rows.
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

  const remove = (index: number) => {
    keys.remove(index);
    onChange(values.toSpliced(index, 1));
  };
  const add = (value: Value) => {
    isAdding.current = true;
    onChange([...values, value]);
  };

  return (
    <div ref={list} className="stack">
      {values.map((value, index) => (
        <div key={keys.of(index)}>
          {children({
            value,
            index,
            change: (next) => onChange(values.with(index, next)),
            remove: <IconButton icon="cross" label={removing} onClick={() => remove(index)} />,
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
    of: (index: number) => keys.current[index],
    remove: (index: number) => void keys.current.splice(index, 1),
  };
}
