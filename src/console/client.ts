/** The page's requests to the ops listener, authenticated by the session's cookie and CSRF proof. Nothing is stored. */
import type { ConsoleSessionJson, KnownSessionJson } from '../gateways/console/console-service.ts';

const answerMsMax = 20_000;

/** The answer was not 200; the message is the listener's sentence. */
export class RequestError extends Error {
  readonly status: number;

  /** `status`: 0 without an answer. */
  constructor(status: number, message: string) {
    super(message);
    this.name = 'RequestError';
    this.status = status;
  }
}

type QueryValues = Readonly<Record<string, string | number | null | undefined>>;

export function withQuery(path: string, query: QueryValues): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== '') parameters.append(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

export class Client {
  session: ConsoleSessionJson | null = null;
  readonly #whenOver: () => void;

  /** `whenOver`: called when the session ends, by itself or with its token. */
  constructor(whenOver: () => void) {
    this.#whenOver = whenOver;
  }

  get isOperator(): boolean {
    return this.session?.role === 'operator';
  }

  /** Resumes the session of the cookie; false: none. Rejects with a RequestError if the listener does not answer. */
  async resume(): Promise<boolean> {
    const { session } = await send<KnownSessionJson>('GET', '/console/session', {});
    this.session = session;
    return session !== null;
  }

  /** Rejects with a RequestError. */
  async logIn(token: string): Promise<void> {
    ({ session: this.session } = await send<KnownSessionJson>('POST', '/console/login', {}, { token }));
  }

  async logOut(): Promise<void> {
    await this.#ask('POST', '/console/logout', {});
    this.session = null;
  }

  /** `gone`: aborts the request. Rejects with a RequestError. */
  read<Answer>(path: string, query: QueryValues = {}, gone?: AbortSignal): Promise<Answer> {
    return this.#ask('GET', withQuery(path, query), undefined, gone);
  }

  /** Rejects with a RequestError. */
  change<Answer>(path: string, body: object): Promise<Answer> {
    return this.#ask('POST', path, body);
  }

  async #ask<Answer>(method: string, path: string, body?: object, gone?: AbortSignal): Promise<Answer> {
    try {
      return await send<Answer>(method, path, { 'X-Reveille-Csrf': this.session?.csrf ?? '' }, body, gone);
    } catch (error) {
      if (error instanceof RequestError && error.status === 401 && this.session !== null) {
        this.session = null;
        this.#whenOver();
      }
      throw error;
    }
  }
}

/** Rejects with a RequestError. */
export async function send<Answer>(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
  gone?: AbortSignal,
): Promise<Answer> {
  const timeout = AbortSignal.timeout(answerMsMax);
  const answer = await fetch(path, {
    method,
    credentials: 'same-origin',
    redirect: 'error',
    signal: gone === undefined ? timeout : AbortSignal.any([timeout, gone]),
    headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw new RequestError(0, `the server does not answer (${reasonOf(error)})`);
  });
  const json = (await answer.json().catch(() => ({}))) as { readonly error?: string };
  if (answer.ok) return json as Answer;
  throw new RequestError(answer.status, json.error ?? `the server answered ${answer.status}`);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
