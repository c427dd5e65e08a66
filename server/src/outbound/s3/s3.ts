/** The door of s3: reading, listing and writing objects of a bucket, over pinned connections. */
import type { IncomingMessage } from 'node:http';
import type { Outbound } from '../pinned-addresses.ts';
import { announcedSize, readResponse } from '../response-bytes.ts';
import { createS3Requests, type S3Place } from './s3-requests.ts';
import { uploadToS3 } from './s3-upload.ts';
import type { XmlElement } from './s3-xml.ts';

export { checkS3Endpoint, s3AccessOptions, s3BucketOptions, s3Secrets } from './s3-options.ts';
export type { S3Place } from './s3-requests.ts';

export interface S3Object {
  readonly key: string;
  readonly sizeBytes: number;
  readonly etag: string;
  /** As the server writes it; ISO 8601, so that texts compare as instants. */
  readonly modifiedAt: string;
}

export interface S3Read {
  readonly headers: IncomingMessage['headers'];
  readonly sizeBytes: number | undefined;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Lets go of what was not read. */
  close(): void;
}

export type S3 = ReturnType<typeof openS3>;

/** Nothing is sent before something is asked for. */
export function openS3(place: S3Place, via: Outbound) {
  const requests = createS3Requests(place, via);
  return {
    /** Objects whose keys begin with the prefix, in the order of the keys. @throws OutboundProblem */
    list: (prefix: string) => listObjects(requests, prefix),

    /**
     * @param match `ifNoneMatch`: an ETag that is known already; `ifMatch`: the only one to be read
     * @returns undefined when it is the known one. @throws OutboundProblem no_file, changed
     */
    async read(
      key: string,
      { ifMatch, ifNoneMatch }: { ifMatch?: string; ifNoneMatch?: string | undefined } = {},
    ): Promise<S3Read | undefined> {
      const headers = {
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }),
      };
      const { response, url } = await requests.ask({ key, headers }, [200, 304]);
      const close = () => void response.destroy();
      if (response.statusCode === 200)
        return {
          headers: response.headers,
          sizeBytes: announcedSize(response),
          bytes: readResponse(response, { ...via, url }),
          close,
        };
      close();
      return undefined;
    },

    /** Writes an object as a whole or not at all. @returns its size. @throws OutboundProblem */
    write: (
      key: string,
      bytes: AsyncIterable<Uint8Array>,
      { contentType }: { readonly contentType?: string } = {},
    ): Promise<number> => uploadToS3(requests, { key, contentType }, bytes),

    /** One that is not there is removed already. @throws OutboundProblem */
    async remove(key: string): Promise<void> {
      const { response } = await requests.ask({ method: 'DELETE', key }, [200, 204, 404]);
      response.destroy();
    },
  };
}

async function* listObjects(
  { askXml }: ReturnType<typeof createS3Requests>,
  prefix: string,
): AsyncGenerator<S3Object, undefined> {
  let place: Record<string, string> | undefined = {};
  while (place !== undefined) {
    const page: XmlElement = await askXml({
      query: { 'list-type': '2', 'encoding-type': 'url', prefix, ...place },
    });
    const isEncoded = page.text('EncodingType') === 'url';
    for (const child of page.children) if (child.name === 'Contents') yield readObject(child, isEncoded);
    place = nextPlace(page);
  }
}

function nextPlace(page: XmlElement): Record<string, string> | undefined {
  const token = page.text('NextContinuationToken');
  return page.text('IsTruncated') === 'true' && token !== '' ? { 'continuation-token': token } : undefined;
}

function readObject(element: XmlElement, isEncoded: boolean): S3Object {
  const key = element.text('Key');
  return {
    key: isEncoded ? (decodeSafely(key.replaceAll('+', ' ')) ?? key) : key,
    sizeBytes: Number(element.text('Size')),
    etag: element.text('ETag'),
    modifiedAt: element.text('LastModified'),
  };
}

function decodeSafely(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // Some servers say that they encode keys and do not; then the key is what is written.
    return undefined;
  }
}
