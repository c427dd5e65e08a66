import { Autocomplete } from '@base-ui/react/autocomplete';
import type { TableProduct } from '@relata/client';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { t } from '../../languages/text.ts';
import { findNearest } from '../../rules/nearest.ts';
import { useCategories, useFoundProducts, useTableNames } from '../../state/catalog.ts';
import { useProject } from '../../state/rights.ts';
import { Button, IconButton } from '../button.tsx';
import { Thumb } from '../show.tsx';
import { describe, FieldFrame, type Label, readTexts, type TextShape } from './field.tsx';

interface Suggest extends Label {
  value: string;
  choices: readonly string[];
  placeholder?: string;
  /** The text shown when nothing matches. */
  empty?: string | undefined;
  onFocus?(): void;
  onBlur?(): void;
  onChange(value: string): void;
}

/** A text that is usually one of a list. The field suggests these texts and accepts others. */
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

/** The name of an attribute. An incomplete name is passed on only when the field loses focus. */
export function AttributeField({ value, onChange, ...shape }: Suggest) {
  const [text, setText] = useState(value);
  const [given, setGiven] = useState(value);
  // A choice made elsewhere, for example on the other side of a match, is shown here.
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

type CategoryFieldShape = Omit<TextShape, 'label'> & { label?: string; isQuiet?: boolean };

/** A category path, chosen or typed: `Tools > Drills`. */
export function CategoryField({ label = t('Category'), isQuiet, value, onChange }: CategoryFieldShape) {
  const [isOpened, setIsOpened] = useState(false);
  const { categories, isPending, isComplete } = useCategories(isOpened);
  const noMatch = isComplete ? undefined : t('No match yet; still loading');
  return (
    <SuggestField
      label={label}
      placeholder={t('Tools > Drills')}
      value={value}
      choices={categories}
      empty={isPending ? t('Loading categories') : noMatch}
      onFocus={() => setIsOpened(true)}
      onChange={onChange}
      {...(isQuiet && { isQuiet })}
    />
  );
}

/** The name of a table of values, which need not exist yet. */
export function TableField({ onChange, ...shape }: Label & { value: string; onChange(name: string): void }) {
  const [isNeeded, setNeeded] = useState(false);
  const choices = useTableNames(isNeeded);
  return (
    <SuggestField {...shape} choices={[...choices]} onFocus={() => setNeeded(true)} onChange={onChange} />
  );
}

const SHOWN = 8;

interface ProductFieldShape extends TextShape {
  /**
   * Receives a chosen product instead of `onChange`. Enter chooses the first hit, or else the text as an
   * identifier.
   */
  onPick?(identifier: string): void;
}

/** One product of the project, found by any of its words; the value is its identifier, which may be typed. */
export function ProductField(shape: ProductFieldShape) {
  const { label, value, onPick } = shape;
  const id = useId();
  const { products, empty, onFocus, onEnter, list } = useProductList(shape);
  return (
    <FieldFrame id={id} label={label}>
      <Autocomplete.Root
        items={products}
        filter={null}
        itemToStringValue={({ identifier }: TableProduct) => identifier}
        value={value}
        {...list}
        autoHighlight={onPick !== undefined}
        openOnInputClick
      >
        <Autocomplete.Input
          id={id}
          className="input"
          placeholder={t('Name, identifier or a value')}
          onFocus={onFocus}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.nativeEvent.isComposing || !onEnter()) return;
            event.preventBaseUIHandler();
            event.preventDefault();
          }}
        />
        <Suggestions empty={empty}>
          {(product: TableProduct) => (
            <Autocomplete.Item key={product.identifier} value={product} className="menu-item found">
              <Thumb url={product.thumbnail} />
              <span>
                <span className="cut block">{product.name}</span>
                <span className="mono soft small">{product.identifier}</span>
              </span>
            </Autocomplete.Item>
          )}
        </Suggestions>
      </Autocomplete.Root>
    </FieldFrame>
  );
}

/**
 * The products that match the words of the value, and functions that open the list, close it and choose a
 * product.
 */
function useProductList({ value, onChange, onPick }: ProductFieldShape) {
  const [isFocused, setFocused] = useState(false);
  /** `entered`: the user has pressed Enter, and the field waits for the products that match these words. */
  const [state, setState] = useState<'closed' | 'open' | 'entered'>('closed');
  const isEntered = state === 'entered';
  const search = { words: value, limit: SHOWN, isEnabled: isFocused };
  const { data: products, error, isSettled } = useFoundProducts(useProject().id, search);
  /** Whether the user has moved the highlight to its current position. */
  const isWalked = useRef(false);
  useEffect(() => {
    if (!isEntered || !isSettled) return;
    setState('closed');
    onPick?.(products?.[0]?.identifier ?? value.trim());
  });
  const none = products && !isEntered ? t('No product matches these words') : t('Searching …');
  const list = {
    open: state !== 'closed',
    onOpenChange: (isOpen: boolean) => setState(isOpen ? 'open' : 'closed'),
    onValueChange(next: string, { reason }: { readonly reason: string }) {
      if (isEntered) setState('open');
      const take = reason === 'item-press' && onPick ? onPick : onChange;
      take(next);
    },
    onItemHighlighted(product: TableProduct | undefined, { reason }: { readonly reason: string }) {
      isWalked.current = product !== undefined && reason !== 'none';
    },
  };
  return {
    products: isEntered ? NONE : (products ?? NONE),
    empty: error ? t('The search is not ready. Type the identifier') : none,
    onFocus: () => setFocused(true),
    /** @returns whether Enter takes the first product that is found, and not the highlighted one */
    onEnter(): boolean {
      if (!onPick || value.trim() === '' || isWalked.current) return false;
      // The search may not have answered for these words yet. Then the highlight belongs to the previous words.
      setState('entered');
      return true;
    },
    list,
  };
}

interface ProductsFieldShape {
  identifiers: readonly string[];
  onChange(identifiers: string[]): void;
}

/** Several products, each found or typed; accepts a list with commas too. */
export function ProductsField({ identifiers, onChange }: ProductsFieldShape) {
  const [text, setText] = useState('');
  const add = (added: readonly string[]) => {
    setText('');
    onChange([...new Set([...identifiers, ...added])]);
  };
  const typed = readTexts(text);
  return (
    <div className="stack">
      {identifiers.length > 0 && (
        <ul className="picked">
          {identifiers.map((identifier) => (
            <li key={identifier}>
              <span className="mono">{identifier}</span>
              <IconButton
                icon="cross"
                label={t('Remove {identifier}', { identifier })}
                onClick={() => onChange(identifiers.filter((other) => other !== identifier))}
              />
            </li>
          ))}
        </ul>
      )}
      <ProductField
        label={t('Add a product')}
        value={text}
        onChange={setText}
        onPick={(picked) => add(picked === text.trim() ? typed : [picked])}
      />
      {typed.length > 0 && (
        <Button onClick={() => add(typed)}>
          {t('Add {identifiers}', { identifiers: typed.join(', ') })}
        </Button>
      )}
    </div>
  );
}

const NONE: TableProduct[] = [];
