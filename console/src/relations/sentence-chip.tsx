import { Popover } from '@base-ui/react/popover';
import { createContext, Fragment, type ReactNode, type RefObject, useContext, useRef, useState } from 'react';
import { presentLanguage, t } from '../languages/text.ts';
import { Button, Icon } from '../parts/button.tsx';
import { useLocked } from '../parts/forms/field.tsx';
import { handleSubmit } from '../state/forms.ts';

/** The open chip of a sentence, by its position: `match 0`. */
interface OpenChip {
  readonly position: string | undefined;
  /** The sentence's box: popovers open above or below it, so that the preview beside it stays visible. */
  readonly box: RefObject<HTMLElement | null>;
  open(position: string | undefined): void;
}

const OpenChipContext = createContext<OpenChip>({
  position: undefined,
  box: { current: null },
  open() {},
});

/** A sentence whose parts are chips. One chip is open at a time. */
export function Sentence({ warning, children }: { warning: string | false; children: ReactNode }) {
  const [position, open] = useState<string>();
  const box = useRef<HTMLParagraphElement>(null);
  return (
    <OpenChipContext value={{ position, box, open }}>
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
  position: string;
  label: string;
  words: ReactNode;
  /** The full text of abbreviated words. */
  title?: string | undefined;
  /** Whether nothing is chosen yet. An empty chip is removed when it closes. */
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

/** @returns whether the chip is open, and functions that open, close and remove it */
function useChip({ position, isBlank = false, onRemove }: Shape) {
  const { position: opened, box, open } = useContext(OpenChipContext);
  const chip = useRef<HTMLButtonElement>(null);
  const isGone = useRef(false);
  const remove = () => {
    isGone.current = true;
    open(undefined);
    onRemove?.();
  };
  /** The element to focus: the chip, or, if that is removed, the button that adds another. */
  const findHeir = () => {
    const heir = isGone.current ? findAdd(box.current, position) : chip.current;
    isGone.current = false;
    return heir;
  };
  return {
    isOpen: opened === position,
    show: () => open(position),
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

/** Keeps the comma after the chip on the same line. */
const Stays = ({ children }: { children: ReactNode }) => (
  <span className="sentence-part">
    {children}
    {'\u2060'}
  </span>
);

const listOf = (position: string) => position.split(' ')[0] ?? '';

const findAdd = (box: HTMLElement | null, position: string) =>
  box?.querySelector<HTMLElement>(`[data-adds="${listOf(position)}"]`) ?? null;

function boundOf(box: HTMLElement | null) {
  if (box === null) return {};
  const { x, width } = box.getBoundingClientRect();
  // On a phone, nothing is beside the sentence.
  if (width > innerWidth / 2) return {};
  return { collisionBoundary: { x, y: 0, width, height: innerHeight } };
}

interface AddChipShape {
  position: string;
  label: string;
  words?: string | undefined;
  onAdd(): void;
}

/**
 * Adds a part and opens it.
 * @param props.position the position of the new part
 * @param props.words shown while the sentence has no such part
 */
export function AddChip({ position, label, words, onAdd }: AddChipShape) {
  const { open } = useContext(OpenChipContext);
  if (useLocked()) return words ?? null;
  const add = () => {
    onAdd();
    open(position);
  };
  // Both looks use the same element, because removing a focused element would lose the focus.
  return (
    <Stays>
      <button
        type="button"
        className={words === undefined ? 'button quiet icon sentence-add' : 'sentence-chip adds'}
        aria-label={words === undefined ? label : `${words}: ${label}`}
        title={label}
        data-adds={listOf(position)}
        onClick={add}
      >
        {words ?? <Icon name="plus" />}
      </button>
    </Stays>
  );
}

/** @returns the parts joined by the rules of the language: `A, B and C`, `A, B oder C` */
export function joinList(parts: readonly ReactNode[], type: 'conjunction' | 'disjunction'): ReactNode {
  const indexes = parts.map((_, index) => String(index));
  const list = new Intl.ListFormat(presentLanguage(), { type }).formatToParts(indexes);
  return list.map(({ type: kind, value }, index) => (
    <Fragment key={index}>{kind === 'element' ? parts[Number(value)] : value}</Fragment>
  ));
}
