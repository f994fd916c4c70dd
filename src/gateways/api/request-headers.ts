/** The headers of a request in the order received. They are at most 100, so a linear search is cheaper than building a map. */
import type { HttpRequest } from '../../lib/uws.ts';

export class RequestHeaders {
  /** Alternating names and values, to allocate one array only. */
  readonly fields: string[] = [];
  /** True: Authorization, X-Tg-* or Content-Type, which may appear only once, is repeated. */
  repeated = false;
  repeatsRequestId = false;
  repeatsLength = false;

  /** Iterates instead of querying by name, which would hide repeated headers and confuse empty with absent ones. */
  constructor(request: Pick<HttpRequest, 'forEach'>) {
    request.forEach((name, value) => {
      if (this.get(name) !== undefined) this.#recordRepeated(name);
      this.fields.push(name, value);
    });
  }

  /** `name`: lower case. Returns the trimmed value, of a repeated header the last. */
  get(name: string): string | undefined {
    const fields = this.fields;
    for (let at = fields.length - 2; at >= 0; at -= 2) if (fields[at] === name) return fields[at + 1];
    return undefined;
  }

  #recordRepeated(name: string): void {
    if (name === 'x-request-id') this.repeatsRequestId = true;
    else if (name === 'content-length') this.repeatsLength = true;
    else if (name === 'authorization' || name === 'content-type' || name.startsWith('x-tg-'))
      this.repeated = true;
  }
}
