import { Popover } from '@base-ui/react/popover';
import {
  createContext,
  type FormEvent,
  Fragment,
  type ReactNode,
  type RefObject,
  useContext,
  useRef,
} from 'react';
import { presentLanguage, t } from '../languages/text.ts';
import { Button, Icon } from '../parts/button.tsx';
import { useLocked } from '../parts/forms/field.tsx';

/** Which chip of a sentence is open, by its place: `match 0`. */
export interface OpenChip {
  readonly place: string | undefined;
  /** Of the sentence: what opens stays above or below it, so that what it changes beside it is seen. */
  readonly box: RefObject<HTMLElement | null>;
  open(place: string | undefined): void;
}

export const OpenChipContext = createContext<OpenChip>({
  place: undefined,
  box: { current: null },
  open() {},
});

interface Shape {
  place: string;
  /** What is edited, for those who hear it. */
  label: string;
  words: ReactNode;
  /** The whole of what the words shorten. */
  title?: string | undefined;
  /** Nothing is chosen yet: it goes when it is left like that. */
  isBlank?: boolean;
  /** It is not written to its end: what the rule finds is found without it. */
  isUnfinished?: boolean;
  onRemove?: (() => void) | undefined;
  children: ReactNode;
}

/** A part of a sentence that is edited where it stands. */
export function SentenceChip({
  place,
  label,
  words,
  title,
  isBlank = false,
  isUnfinished = false,
  onRemove,
  children,
}: Shape) {
  const { place: opened, box, open } = useContext(OpenChipContext);
  const isLocked = useLocked();
  const chip = useRef<HTMLButtonElement>(null);
  const isGone = useRef(false);
  const remove = () => {
    isGone.current = true;
    open(undefined);
    onRemove?.();
  };
  const close = () => (isBlank && onRemove ? remove() : open(undefined));
  /** The chip, or, where it goes, what adds another one. */
  const findHeir = () => {
    const heir = isGone.current ? findAdd(box.current, place) : chip.current;
    isGone.current = false;
    return heir;
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    close();
  };
  if (isLocked) return <span title={title}>{words}</span>;
  return (
    <Popover.Root open={opened === place} onOpenChange={(isOpen) => (isOpen ? open(place) : close())}>
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
          {...boundOf(opened === place ? box.current : null)}
        >
          <Popover.Popup className="chip-editor" aria-label={label} finalFocus={findHeir}>
            <form className="stack" onSubmit={submit}>
              {children}
              <div className="row spread">
                {onRemove ? (
                  <Button look="quiet" icon="cross" onClick={remove}>
                    {t('Remove')}
                  </Button>
                ) : (
                  <span />
                )}
                <Button type="submit" look="primary">
                  {t('Done')}
                </Button>
              </div>
            </form>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** A comma behind it begins no line. */
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

/** Adds a part, and opens it. @param props.place  of the part that comes @param props.words  what holds as long as there is none */
export function AddChip({
  place,
  label,
  words,
  onAdd,
}: {
  place: string;
  label: string;
  words?: string | undefined;
  onAdd(): void;
}) {
  const { open } = useContext(OpenChipContext);
  if (useLocked()) return words ?? null;
  const add = () => {
    onAdd();
    open(place);
  };
  // One element in both looks: one that went would take the keyboard along.
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

/** @returns the parts as a language lists them: `A, B and C`, `A, B oder C` */
export function joinList(parts: readonly ReactNode[], type: 'conjunction' | 'disjunction'): ReactNode {
  const places = parts.map((_, at) => String(at));
  const list = new Intl.ListFormat(presentLanguage(), { type }).formatToParts(places);
  return list.map(({ type: kind, value }, at) => (
    <Fragment key={at}>{kind === 'element' ? parts[Number(value)] : value}</Fragment>
  ));
}
