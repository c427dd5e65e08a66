import { Browser, PASSWORD } from './browser.ts';
import type { TestService } from './test-service.ts';

/** Signs in users, each with a browser of their own. */

let people = 0;
export const nextEmail = () => {
  people += 1;
  return `Person.${people}@Shop.example`;
};

/** The owner, who creates the first account. */
export async function signUpOwner(
  running: TestService,
  { email = nextEmail(), origin }: { email?: string; origin?: string } = {},
) {
  const browser = new Browser(running.address);
  if (origin !== undefined) browser.headers = { origin };
  const [account] = await running.app.projects.findAccounts();
  const token = await running.app.access.makeOwnerLink(account?.id ?? 0, 'test');
  const answer = await browser.succeed('POST', '/management/owner', {
    token,
    email,
    name: 'Ada',
    password: PASSWORD,
  });
  return { browser, token, email, id: answer.user.id as number, answer };
}

type Owner = Awaited<ReturnType<typeof signUpOwner>>;

export const tokenOf = (link: string) => link.split('/').at(-1) ?? '';

/** A user invited by the owner. */
export async function addUser(owner: Pick<Owner, 'browser'>, role: string, email = nextEmail()) {
  const { link } = await owner.browser.succeed('POST', '/management/invitations', { email, role });
  const browser = new Browser(owner.browser.address);
  browser.headers = owner.browser.headers;
  const answer = await browser.succeed('POST', '/management/invitations/accept', {
    token: tokenOf(link),
    name: `Some ${role}`,
    password: PASSWORD,
  });
  return { browser, email, id: answer.user.id as number, token: tokenOf(link) };
}

export async function signIn(running: TestService, email: string, password = PASSWORD) {
  const browser = new Browser(running.address);
  const answer = await browser.call('POST', '/management/session', { body: { email, password } });
  return { browser, answer };
}

export const isSignedIn = async (browser: Browser) =>
  (await browser.call('GET', '/management/session')).status;
