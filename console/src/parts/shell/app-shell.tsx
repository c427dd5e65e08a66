import { Dialog as Drawer } from '@base-ui/react/dialog';
import { Toast } from '@base-ui/react/toast';
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { t } from '../../languages/text.ts';
import mark from '../../mark.svg';
import { listLanguages, type Theme, useLanguageChoice, useTheme } from '../../state/language.ts';
import { useQuestion } from '../../state/question.ts';
import { linkTo, useRoute } from '../../state/route.ts';
import { notices, tell, useProjects, useSession } from '../../state/service.tsx';
import { Button, Icon, IconButton, Menu } from '../button.tsx';
import { Dialog } from '../page.tsx';
import { Finder, listAccountPlaces, listProjectPlaces, type Place } from './finder.tsx';
import { keepFocus } from './keep-focus.ts';

/** Navigation and content; the same for every view of a signed-in user. */
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

/** `/` goes to the search of the view, wherever nothing is typed; where a view has none, to that of everything. */
function useSlash(find: () => void): void {
  useEffect(() => {
    const search = (event: KeyboardEvent) => {
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
  const { who } = useSession();
  const [first, id] = parts;
  const isProject = first === 'projects' && id !== undefined && id !== 'new';
  const account: readonly Place[] =
    who?.kind === 'user' ? [...listAccountPlaces(), ['users', t('Account'), 'account']] : listAccountPlaces();
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
        {/* In a tab of its own: a user who came with a key would lose it with the page. */}
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

function NavLink({ entry: [icon, words, ...place] }: { entry: Place }) {
  const { parts } = useRoute();
  // The list of projects is not where one of them is.
  const isExact = place.length < 3;
  const isHere =
    place.every((part, at) => String(part) === parts[at]) && (!isExact || parts.length === place.length);
  return (
    <a href={linkTo(...place)} aria-current={isHere ? 'page' : undefined}>
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

/** Who is signed in, with what each sets for themselves. */
function Foot() {
  const { who, signOut } = useSession();
  const [theme, setTheme] = useTheme();
  const [language, choose] = useLanguageChoice();
  const name = who?.kind === 'user' ? who.session.user.name : t('Signed in by key');
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
            ...{ words, isChosen: value === language },
            onSelect: () => void choose(value).catch(tell.bad),
          })),
          ...listThemes().map(([value, words]) => ({
            ...{ words, isChosen: value === theme },
            onSelect: () => setTheme(value),
          })),
          { words: t('Sign out'), onSelect: () => void signOut().catch(tell.bad) },
        ]}
      />
    </div>
  );
}

/** What is asked over any view, as `ask` of state/question.ts asks it. */
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

/** Notices that come and go in a corner. */
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
