import { Dialog as Drawer } from '@base-ui/react/dialog';
import { Toast } from '@base-ui/react/toast';
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useId, useRef, useState } from 'react';
import { t } from '../../languages/text.ts';
import mark from '../../mark.svg';
import { useAnswer, useProjects } from '../../state/answers.ts';
import { useFoundProducts } from '../../state/catalog.ts';
import { listLanguages, type Theme, useLanguageChoice, useTheme } from '../../state/language.ts';
import { notices, tell } from '../../state/notices.ts';
import { useRights } from '../../state/rights.ts';
import { goTo, linkTo, useQuestion, useRoute } from '../../state/route.ts';
import { useSession } from '../../state/session.tsx';
import { Button, Icon, IconButton, type IconName, Menu } from '../button.tsx';
import { Dialog } from '../page.tsx';

/** Navigation and content, the same for every view of a signed-in user. */
export function AppShell({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const [isFinding, setFinding] = useState(false);
  const find = useCallback(() => setFinding(true), []);
  const main = useRef<HTMLElement>(null);
  useEffect(() => (main.current ? keepFocus(main.current) : undefined), []);
  useSlash(find);
  return (
    <>
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        {t('Skip to the content')}
      </button>
      <header className="top">
        <Brand />
        <IconButton icon="menu" label={t('Open the navigation')} onClick={() => setOpen(true)} />
      </header>
      <div className="app-shell">
        <aside aria-label={t('Navigation')}>
          <Side onFind={find} />
        </aside>
        <main ref={main} id="main" className="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Drawer.Root open={isOpen} onOpenChange={setOpen}>
        <Drawer.Portal>
          <Drawer.Backdrop className="backdrop" />
          <Drawer.Popup className="drawer" aria-label={t('Navigation')}>
            <Side
              onLeave={() => setOpen(false)}
              onFind={() => {
                setOpen(false);
                find();
              }}
            />
          </Drawer.Popup>
        </Drawer.Portal>
      </Drawer.Root>
      <QuestionDialog />
      <Finder isOpen={isFinding} onOpen={find} onClose={() => setFinding(false)} />
    </>
  );
}

/** Outside of inputs, `/` focuses the search of the view, or opens the global one if the view has none. */
function useSlash(find: () => void): void {
  useEffect(() => {
    const search = (event: globalThis.KeyboardEvent) => {
      const { target, key, ctrlKey, metaKey, altKey } = event;
      const isTyping = target instanceof Element && target.closest('input, textarea, select, [role=dialog]');
      if (key !== '/' || ctrlKey || metaKey || altKey || isTyping) return;
      event.preventDefault();
      const field = document.querySelector<HTMLInputElement>('#main [type=search]');
      if (field === null) find();
      else field.select();
    };
    addEventListener('keydown', search);
    return () => removeEventListener('keydown', search);
  }, [find]);
}

const Brand = () => (
  <a className="brand" href={linkTo()}>
    <img src={mark} alt="" />
    Relata
  </a>
);

function Side({ onLeave, onFind }: { onLeave?: () => void; onFind(): void }) {
  const { parts } = useRoute();
  const { caller } = useSession();
  const [first, id] = parts;
  const isProject = first === 'projects' && id !== undefined && id !== 'new';
  const account: readonly Place[] =
    caller?.kind === 'user'
      ? [...listAccountPlaces(), ['users', t('Account'), 'account']]
      : listAccountPlaces();
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: links inside close the drawer
    <div
      className="side"
      onClick={(event) => event.target instanceof Element && event.target.closest('a') && onLeave?.()}
    >
      <Brand />
      <Button icon="search" look="quiet" onClick={onFind}>
        {t('Go to …')} <kbd className="soft small">{t('Ctrl K')}</kbd>
      </Button>
      <nav className="nav" aria-label={t('Account')}>
        {account.map((entry) => (
          <NavLink key={entry[1]} entry={entry} />
        ))}
        {/* Opens a new tab, because a user who is signed in by key would lose the key with the page. */}
        <a href="/docs/" target="_blank" rel="noopener">
          <Icon name="log" />
          {t('Documentation')}
        </a>
      </nav>
      {isProject && <ProjectNav id={id} />}
      <Foot />
    </div>
  );
}

function ProjectNav({ id }: { id: string }) {
  const projects = useProjects();
  const present = projects.data?.find((project) => String(project.id) === id);
  const others = projects.data?.filter((project) => String(project.id) !== id) ?? [];
  return (
    <nav className="nav" aria-label={t('Project')}>
      <div className="row spread nav-title">
        <span className="cut">{present?.name ?? t('Project {id}', { id })}</span>
        {others.length > 0 && (
          <Menu
            label={t('Switch project')}
            trigger={<IconButton icon="down" label={t('Switch project')} />}
            entries={others.map((project) => ({ words: project.name, href: linkTo('projects', project.id) }))}
          />
        )}
      </div>
      {listProjectPlaces(id).map((entry) => (
        <NavLink key={entry[1]} entry={entry} />
      ))}
    </nav>
  );
}

function NavLink({ entry: [icon, words, ...target] }: { entry: Place }) {
  const { parts } = useRoute();
  // The list of projects is not marked as the current page while a project is open.
  const isExact = target.length < 3;
  const isHere =
    target.every((part, index) => String(part) === parts[index]) &&
    (!isExact || parts.length === target.length);
  return (
    <a href={linkTo(...target)} aria-current={isHere ? 'page' : undefined}>
      <Icon name={icon} />
      {words}
    </a>
  );
}

const listThemes = (): readonly (readonly [Theme, string])[] => [
  ['system', t('Colours: as the system')],
  ['light', t('Colours: light')],
  ['dark', t('Colours: dark')],
];

function Foot() {
  const { caller, signOut } = useSession();
  const [theme, setTheme] = useTheme();
  const [language, choose] = useLanguageChoice();
  const name = caller?.kind === 'user' ? caller.session.user.name : t('Signed in by key');
  return (
    <div className="side-foot">
      <Menu
        label={t('Your menu')}
        trigger={
          <Button icon="users" look="quiet" aria-label={t('Your menu: {name}', { name })}>
            <span className="cut">{name}</span>
          </Button>
        }
        entries={[
          ...listLanguages().map(([value, words]) => ({
            words,
            isChosen: value === language,
            onSelect: () => void choose(value).catch(tell.bad),
          })),
          ...listThemes().map(([value, words]) => ({
            words,
            isChosen: value === theme,
            onSelect: () => setTheme(value),
          })),
          { words: t('Sign out'), onSelect: () => void signOut().catch(tell.bad) },
        ]}
      />
    </div>
  );
}

/** The question that `ask` of state/route.ts asks, shown over any view. */
export function QuestionDialog() {
  const question = useQuestion();
  if (question === undefined) return null;
  const { title, words, action, answer } = question;
  return (
    <Dialog title={title} isOpen onClose={() => answer(false)}>
      <p>{words}</p>
      <div className="dialog-foot">
        <Button onClick={() => answer(false)}>{t('Stay here')}</Button>
        <Button look="danger" onClick={() => answer(true)}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}

/** The notices in the corner of the page. */
export const Toasts = ({ children }: { children: ReactNode }) => (
  <Toast.Provider timeout={6000} toastManager={notices}>
    {children}
    <Toast.Portal>
      <Toast.Viewport className="toasts">
        <ToastList />
      </Toast.Viewport>
    </Toast.Portal>
  </Toast.Provider>
);

function ToastList() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast">
      <div>
        <Toast.Title className="toast-title" render={<p />} />
        <Toast.Description className="soft small" render={<p />} />
        {toast.actionProps && <Toast.Action className="button" />}
      </div>
      <Toast.Close render={<IconButton icon="cross" label={t('Dismiss')} />} />
    </Toast.Root>
  ));
}

interface Found {
  readonly icon: IconName;
  readonly words: string;
  readonly about: string;
  readonly href: string;
}

const MOST = 12;
const PRODUCTS = 6;

/** Ctrl-K or Cmd-K: opens any project, page, relation or product by a few letters of its name. */
export function Finder({ isOpen, onOpen, onClose }: { isOpen: boolean; onOpen(): void; onClose(): void }) {
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
      if (key.toLowerCase() !== 'k' || !(ctrlKey || metaKey) || altKey || shiftKey) return;
      event.preventDefault();
      onOpen();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, [onOpen]);
  return (
    <Dialog title={t('Go to …')} isOpen={isOpen} onClose={onClose}>
      <Search onClose={onClose} />
    </Dialog>
  );
}

function Search({ onClose }: { onClose(): void }) {
  const id = useId();
  const [words, setWords] = useState('');
  const [chosenAt, setChosenAt] = useState(0);
  const entries = useFound(words);
  const chosenIndex = Math.min(chosenAt, entries.length - 1);
  const open = ({ href }: Found) => {
    onClose();
    goTo(href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = entries[chosenIndex];
    if (step === undefined && (event.key !== 'Enter' || chosen === undefined)) return;
    event.preventDefault();
    if (step === undefined) return chosen && open(chosen);
    setChosenAt(Math.max(0, Math.min(entries.length - 1, chosenIndex + step)));
  };
  return (
    <div className="stack">
      <input
        className="input"
        role="combobox"
        aria-label={t('Project, page, relation or product')}
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={id}
        aria-activedescendant={entries[chosenIndex] && `${id}-${chosenIndex}`}
        value={words}
        onKeyDown={onKeyDown}
        onChange={({ target }) => {
          setWords(target.value);
          setChosenAt(0);
        }}
      />
      <div role="listbox" id={id} aria-label={t('Found')}>
        {entries.map((entry, index) => (
          // The keyboard selects from the field above.
          <a
            key={`${entry.href} ${entry.about}`}
            id={`${id}-${index}`}
            className="menu-item found"
            role="option"
            tabIndex={-1}
            aria-selected={index === chosenIndex}
            data-highlighted={index === chosenIndex ? '' : undefined}
            href={entry.href}
            onClick={onClose}
          >
            <Icon name={entry.icon} />
            <span className="cut">{entry.words}</span>
            <span className="soft small">{entry.about}</span>
          </a>
        ))}
      </div>
      {entries.length === 0 && <p className="soft">{t('Nothing matches these words.')}</p>}
    </div>
  );
}

/** @returns the entries whose names have all of the words, pages first; products by the service's search */
function useFound(words: string): readonly Found[] {
  const { parts } = useRoute();
  const { canChange } = useRights();
  const { data: projects = [] } = useProjects();
  const id =
    parts[0] === 'projects' && projects.some((project) => String(project.id) === parts[1])
      ? parts[1]
      : undefined;
  const inProject = useInProject(id, words);
  const here = projects.find((project) => String(project.id) === id)?.name ?? '';
  const listed = [
    ...(id === undefined ? [] : listProjectPlaces(id)).map(toFound(here)),
    ...(id === undefined ? [] : listActions(id, canChange)).map(toFound(here)),
    ...inProject.relations,
    ...listAccountPlaces().map(toFound('')),
    ...projects.map(({ id: projectId, name }) =>
      toFound(t('Project'))(['projects', name, 'projects', projectId]),
    ),
  ];
  const typed = words.toLowerCase().split(/\s+/);
  const fitting = listed.filter((entry) => typed.every((word) => entry.words.toLowerCase().includes(word)));
  return [...fitting.slice(0, MOST), ...inProject.products];
}

const toFound =
  (about: string) =>
  ([icon, words, ...target]: Place): Found => ({ icon, words, about, href: linkTo(...target) });

function useInProject(id: string | undefined, words: string) {
  const projectId = Number(id);
  const { data: relations = [] } = useAnswer(
    ['relations', projectId],
    ({ relata, signal }) => relata.relations.list(projectId, { signal }),
    { enabled: id !== undefined },
  );
  const isEnabled = id !== undefined && words.trim() !== '';
  const hits = useFoundProducts(projectId, { words, limit: PRODUCTS, isEnabled });
  const products = hits.isSettled ? (hits.data ?? []) : [];
  return {
    relations: relations.map(({ id: relationId, name }) =>
      toFound(t('Relation'))(['relations', name, 'projects', projectId, 'relations', relationId]),
    ),
    products: products.map(({ identifier, name }) =>
      toFound(identifier)(['products', name, 'projects', projectId, 'products', identifier]),
    ),
  };
}

/** A page: its icon, its name, and its address. */
export type Place = readonly [icon: IconName, words: string, ...place: (string | number)[]];

export const listAccountPlaces = (): readonly Place[] => [
  ['projects', t('Projects'), 'projects'],
  ['overview', t('Operations'), 'operations'],
  ['log', t('Audit log'), 'audit-log'],
];

export const listProjectPlaces = (id: string): readonly Place[] => [
  ['start', t('Start'), 'projects', id],
  ['products', t('Products'), 'projects', id, 'products'],
  ['ontology', t('Attributes'), 'projects', id, 'ontology'],
  ['relations', t('Relations'), 'projects', id, 'relations'],
  ['fit', t('Does it fit?'), 'projects', id, 'fit'],
  ['suggestions', t('Suggestions'), 'projects', id, 'suggestions'],
  ['pipelines', t('Pipelines'), 'projects', id, 'pipelines'],
  ['channels', t('Channels'), 'projects', id, 'channels'],
  ['updates', t('Updates'), 'projects', id, 'updates'],
  ['events', t('Events'), 'projects', id, 'events'],
  ['key', t('API access'), 'projects', id, 'api-access'],
  ['settings', t('Settings'), 'projects', id, 'settings'],
];

/** The actions that are available from anywhere in a project. */
export const listActions = (id: string, canChange: boolean): readonly Place[] => {
  const why: Place = ['relations', t('Why, or why not?'), 'projects', id, 'why'];
  if (!canChange) return [why];
  return [
    why,
    ['plus', t('New relation'), 'projects', id, 'relations', 'new'],
    ['plus', t('New pipeline'), 'projects', id, 'pipelines', 'new'],
    ['plus', t('Import a file'), 'projects', id, 'import'],
  ];
};

/** Elements that take keyboard focus. */
const TAKES = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';

const listTakers = (root: Node | null): HTMLElement[] =>
  !(root instanceof Element && root.isConnected)
    ? []
    : [...root.querySelectorAll<HTMLElement>(TAKES)].filter(
        (element) => element.checkVisibility() && !element.matches(':disabled'),
      );

/**
 * When the focused element is removed with its row, card or button, the focus would jump to the top of the
 * page. This function moves it to the replacement, or to the same position in the next row.
 * @returns a function that ends this
 */
export function keepFocus(root: HTMLElement): () => void {
  let last: HTMLElement | undefined;
  let heir: HTMLElement | undefined;
  const note = ({ target }: FocusEvent) => {
    if (target instanceof HTMLElement && root.contains(target)) last = target;
  };
  const observer = new MutationObserver((records) => {
    const removal = records.find(({ removedNodes }) =>
      [...removedNodes].some((node) => last && node.contains(last)),
    );
    if (last === undefined || removal === undefined || root.contains(last)) return;
    heir = findHeir(records, removal, last);
    last = undefined;
    // A closing dialog or a new view places focus itself.
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) (heir ?? root).focus({ preventScroll: true });
    });
  });
  document.addEventListener('focusin', note);
  observer.observe(root, { childList: true, subtree: true });
  return () => {
    document.removeEventListener('focusin', note);
    observer.disconnect();
  };
}

function findHeir(
  records: MutationRecord[],
  removal: MutationRecord,
  last: HTMLElement,
): HTMLElement | undefined {
  const came = records.flatMap(({ target, addedNodes }) =>
    target === removal.target ? [...addedNodes] : [],
  );
  const removed = [...removal.removedNodes].find((node) => node.contains(last)) as Element;
  const all = [...removed.querySelectorAll(TAKES)];
  // The button of a row comes last, after the buttons of the rows within it.
  const fromEnd = all.length - all.indexOf(last);
  return (
    came.map((node) => listTakers(node)[0]).find(Boolean) ??
    [removal.nextSibling, removal.previousSibling, removal.target]
      .map((node) => listTakers(node))
      .map((takers) => takers.at(-fromEnd) ?? takers.at(-1))
      .find(Boolean)
  );
}
