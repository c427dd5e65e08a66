import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const hash = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest();
const text = (word: string) => Buffer.concat([Buffer.from([0x60 + word.length]), Buffer.from(word)]);

/** The replies of an authenticator and a browser to a challenge. Tests can falsify parts of them. */
export class Authenticator {
  readonly id = randomBytes(32);
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #origin: string;
  counter = 1;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** @returns the body that registers the passkey */
  make(challenge: string, { origin = this.#origin, statement = Buffer.from([0xa0]) } = {}) {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const key = [
      ...[Buffer.from([0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32]), Buffer.from(x, 'base64url')],
      ...[Buffer.from([0x22, 0x58, 32]), Buffer.from(y, 'base64url')],
    ];
    const named = [Buffer.alloc(16), Buffer.from([0, this.id.length]), this.id];
    const data = Buffer.concat([this.#data(0x41), ...named, ...key]);
    const object = Buffer.concat([
      ...[Buffer.from([0xa3]), text('fmt'), text('none'), text('attStmt'), statement],
      ...[text('authData'), Buffer.from([0x58, data.length]), data],
    ]);
    return {
      id: this.id.toString('base64url'),
      clientDataJSON: this.#client('webauthn.create', challenge, origin).toString('base64url'),
      attestationObject: object.toString('base64url'),
    };
  }

  /** @returns the body that signs in */
  sign(challenge: string, { origin = this.#origin, type = 'webauthn.get', flags = 1 } = {}) {
    this.counter += 1;
    const data = this.#data(flags);
    const client = this.#client(type, challenge, origin);
    const signature = sign('sha256', Buffer.concat([data, hash(client)]), this.#keys.privateKey);
    return {
      id: this.id.toString('base64url'),
      clientDataJSON: client.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
    };
  }

  #data(flags: number): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(this.counter);
    return Buffer.concat([hash(new URL(this.#origin).hostname), Buffer.from([flags]), count]);
  }

  #client(type: string, challenge: string, origin: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  }
}
