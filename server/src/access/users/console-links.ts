/** Where the console takes a token. Behind the `#`, so that no server and no proxy writes it into a log. */
export function ownerLinkUrl(base: string, token: string): string {
  return `${base}/console/#/welcome/${token}`;
}

/** Where browsers come back from the company's provider, as it is registered there. */
export const consoleUrl = (base: string): string => `${base}/console/`;

export function invitationUrl(base: string, token: string): string {
  return `${base}/console/#/invitation/${token}`;
}

/** Where the page is that calls: as it says, which was checked to be here, or where browsers find the service. */
export const originOf = ({ origin }: { readonly origin?: string | undefined }, base: string): string =>
  origin ?? new URL(base).origin;
