/**
 * The headers of a request as the front end hands them over, one after the other. They are few, so they are looked for from
 * one to the next: a map of them costs more to make than it ever saves. The front end takes no more than 100.
 */
import type { HttpRequest } from '../../lib/uws.ts';

export class RequestHeaders {
  /** Name, value, name, value: one array to make. */
  readonly fields: string[] = [];
  /** A header that must stand once stands twice: Authorization, X-Tg-*, Content-Type. */
  repeated = false;
  repeatsRequestId = false;
  repeatsLength = false;

  /** Walked, not asked for: only that shows a repeated header, and an empty one apart from an absent one. */
  constructor(request: Pick<HttpRequest, 'forEach'>) {
    request.forEach((name, value) => {
      if (this.get(name) !== undefined) this.#noteRepeated(name);
      this.fields.push(name, value);
    });
  }

  /** `name` in lower case. The value is trimmed, and of a repeated header the last. */
  get(name: string): string | undefined {
    const fields = this.fields;
    for (let at = fields.length - 2; at >= 0; at -= 2) if (fields[at] === name) return fields[at + 1];
    return undefined;
  }

  #noteRepeated(name: string): void {
    if (name === 'x-request-id') this.repeatsRequestId = true;
    else if (name === 'content-length') this.repeatsLength = true;
    else if (name === 'authorization' || name === 'content-type' || name.startsWith('x-tg-'))
      this.repeated = true;
  }
}
