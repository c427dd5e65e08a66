import { Popover } from '@base-ui/react/popover';
import { createContext, Fragment, type ReactNode, type RefObject, useContext, useRef, useState } from 'react';
import { presentLanguage, t } from '../languages/text.ts';
import { Button, Icon } from '../parts/button.tsx';
import { useLocked } from '../parts/forms/field.tsx';
import { handleSubmit } from '../state/forms.ts';

/** The open chip of a sentence, by its place: `match 0`. */
interface OpenChip {
  readonly place: string | undefined;
  /** The sentence's box: popovers open above or below it, so that the preview beside it stays visible. */
  readonly box: RefObject<HTMLElement | null>;
  open(place: string | undefined): void;
}

const OpenChipContext = createContext<OpenChip>({
  place: undefined,
  box: { current: null },
  open() {},
});

/** A sentence whose parts are chips, of which one is open at a time. */
export function Sentence({ warning, children }: { warning: string | false; children: ReactNode }) {
  const [place, open] = useState<string>();
  const box = useRef<HTMLParagraphElement>(null);
  return (
    <OpenChipContext value={{ place, box, open }}>
      <p ref={box} className="sentence">
        {children}
      </p>
      {warning && (
        <p className="note warn" role="status">
          {warning}
        </p>
      )}
    </OpenChipContext>
  );
}

interface Shape {
  place: string;
  label: string;
  words: ReactNode;
  /** The full text of abbreviated words. */
  title?: string | undefined;
  /** Whether nothing is chosen yet; closing it like that removes it. */
  isBlank?: boolean;
  /** Whether it is incomplete, and ignored by the preview of the rule. */
  isUnfinished?: boolean;
  onRemove?: (() => void) | undefined;
  children: ReactNode;
}

/** A part of a sentence that is edited in place. */
export function SentenceChip(shape: Shape) {
  const { label, words, title, isUnfinished = false, children } = shape;
  const { isOpen, show, close, remove, box, chip, findHeir } = useChip(shape);
  if (useLocked()) return <span title={title}>{words}</span>;
  return (
    <Popover.Root open={isOpen} onOpenChange={(next) => (next ? show() : close())}>
      <Stays>
        <Popover.Trigger
          ref={chip}
          className={isUnfinished ? 'sentence-chip unfinished' : 'sentence-chip'}
          title={title}
        >
          {words}
          {isUnfinished && <span className="hidden"> ({t('unfinished')})</span>}
        </Popover.Trigger>
      </Stays>
      <Popover.Portal>
        <Popover.Positioner
          className="menu-place"
          sideOffset={6}
          align="start"
          collisionPadding={8}
          {...boundOf(isOpen ? box.current : null)}
        >
          <Popover.Popup className="chip-editor" aria-label={label} finalFocus={findHeir}>
            <form className="stack" onSubmit={handleSubmit(close)}>
              {children}
              <ChipButtons onRemove={shape.onRemove && remove} />
            </form>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** @returns whether the chip is open, and what opens, closes and removes it */
function useChip({ place, isBlank = false, onRemove }: Shape) {
  const { place: opened, box, open } = useContext(OpenChipContext);
  const chip = useRef<HTMLButtonElement>(null);
  const isGone = useRef(false);
  const remove = () => {
    isGone.current = true;
    open(undefined);
    onRemove?.();
  };
  /** The element to focus: the chip, or, if that is removed, the button that adds another. */
  const findHeir = () => {
    const heir = isGone.current ? findAdd(box.current, place) : chip.current;
    isGone.current = false;
    return heir;
  };
  return {
    isOpen: opened === place,
    show: () => open(place),
    close: () => (isBlank && onRemove ? remove() : open(undefined)),
    remove,
    box,
    chip,
    findHeir,
  };
}

const ChipButtons = ({ onRemove }: { onRemove: (() => void) | undefined }) => (
  <div className="row spread">
    {onRemove ? (
      <Button look="quiet" icon="cross" onClick={onRemove}>
        {t('Remove')}
      </Button>
    ) : (
      <span />
    )}
    <Button type="submit" look="primary">
      {t('Done')}
    </Button>
  </div>
);

/** Keeps a comma after it on the same line. */
const Stays = ({ children }: { children: ReactNode }) => (
  <span className="sentence-part">
    {children}
    {'\u2060'}
  </span>
);

const listOf = (place: string) => place.split(' ')[0] ?? '';

const findAdd = (box: HTMLElement | null, place: string) =>
  box?.querySelector<HTMLElement>(`[data-adds="${listOf(place)}"]`) ?? null;

function boundOf(box: HTMLElement | null) {
  if (box === null) return {};
  const { x, width } = box.getBoundingClientRect();
  // On a phone there is nothing beside it.
  if (width > innerWidth / 2) return {};
  return { collisionBoundary: { x, y: 0, width, height: innerHeight } };
}

interface AddChipShape {
  place: string;
  label: string;
  words?: string | undefined;
  onAdd(): void;
}

/** Adds a part and opens it. @param props.place of the new part @param props.words shown without any part */
export function AddChip({ place, label, words, onAdd }: AddChipShape) {
  const { open } = useContext(OpenChipContext);
  if (useLocked()) return words ?? null;
  const add = () => {
    onAdd();
    open(place);
  };
  // One element for both looks, as removing a focused one would lose focus.
  return (
    <Stays>
      <button
        type="button"
        className={words === undefined ? 'button quiet icon sentence-add' : 'sentence-chip adds'}
        aria-label={words === undefined ? label : `${words}: ${label}`}
        title={label}
        data-adds={listOf(place)}
        onClick={add}
      >
        {words ?? <Icon name="plus" />}
      </button>
    </Stays>
  );
}

/** @returns the parts joined as the language does: `A, B and C`, `A, B oder C` */
export function joinList(parts: readonly ReactNode[], type: 'conjunction' | 'disjunction'): ReactNode {
  const places = parts.map((_, at) => String(at));
  const list = new Intl.ListFormat(presentLanguage(), { type }).formatToParts(places);
  return list.map(({ type: kind, value }, at) => (
    <Fragment key={at}>{kind === 'element' ? parts[Number(value)] : value}</Fragment>
  ));
}
