/**
 * The page of one call on the ops listener, for operators and for viewers with a link. A one-time ticket from `POST
 * /v1/calls/watch` opens it; the page then holds a key for this call only, by which it reads the call's state and requests links
 * to its media. Source: docs/media.md, Watching a call.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ViewerTickets, WatchKeys, WatchedCall } from '../../core/calls/viewers.ts';
import type { SessionId } from '../../model/ids.ts';
import {
  type CarriedCallDeps,
  type CarriedCallJson,
  describeCarriedCall,
  noTicket,
  pictureLink,
} from '../admin/call-routes.ts';
import { type AdminAnswer, refuse } from '../ops/admin-route.ts';
import { sendAnswer } from '../ops/admin-service.ts';
import { findBearer } from '../ops/operators.ts';
import { refuseRequest, remoteOf } from '../ops/ops-admission.ts';
import type { RefusedCredentials } from '../ops/refused-credentials.ts';
import { type PageFiles, restrictPages } from './page-files.ts';

export interface CallPageDeps extends CarriedCallDeps {
  readonly files: Pick<PageFiles, 'send'>;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  readonly tickets: Pick<ViewerTickets, 'issue'>;
  readonly pageTickets: Pick<ViewerTickets, 'redeem'>;
  readonly keys: Pick<WatchKeys, 'issue' | 'find'>;
  /** The public origin of the call's media listener, such as `https://media.example:8083`. */
  mediaOrigin(sessionId: SessionId): string;
  /** Origins of all media processes, any of which may carry a call. */
  mediaOrigins(): readonly string[];
}

export interface OpenedCallJson {
  readonly key: string;
}

export interface WatchedCallJson extends Partial<CarriedCallJson> {
  readonly end_reason: string | null;
}

/** One-time links to the media of a call: all by WebRTC, or each picture by MJPEG. */
export interface MediaLinksJson {
  readonly live: string;
  readonly source: string;
  readonly output: string;
}

const ticketBody = z.strictObject({ ticket: z.string().min(1).max(256) });
const callEnded = refuse(404, 'the call has ended');

export class CallPage {
  readonly #deps: CallPageDeps;

  constructor(deps: CallPageDeps) {
    this.#deps = deps;
  }

  async register(app: FastifyInstance): Promise<void> {
    const { files } = this.#deps;
    const config = { access: 'page' } as const;
    restrictPages(app, () => this.#deps.mediaOrigins());
    app.get('/watch', { config }, (_request, reply) => files.send('console.html', reply));
    app.post('/watch/open', { config }, (request, reply) => this.#open(request, reply));
    app.get('/watch/view', { config }, this.#withKey(this.#view));
    app.post('/watch/links', { config }, this.#withKey(this.#links));
  }

  async #open(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { pageTickets, calls, keys } = this.#deps;
    const parsed = ticketBody.safeParse(request.body);
    if (!parsed.success) return refuseRequest(reply, 400, 'ticket: a text of 1-256 characters');
    const sessionId = pageTickets.redeem(parsed.data.ticket);
    if (sessionId === null)
      return this.#refuse(request, reply, 'this ticket was already used, or is older than a minute');
    if (calls.find(sessionId) === null) return sendAnswer(reply, callEnded);
    return reply.send({ key: keys.issue(sessionId) } satisfies OpenedCallJson);
  }

  #withKey(answer: (watched: WatchedCall) => Promise<AdminAnswer>) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const watched = this.#deps.keys.find(findBearer(request.headers.authorization ?? '') ?? '');
      if (watched === null) return this.#refuse(request, reply, 'the key of an open page is required');
      return sendAnswer(reply, await answer(watched));
    };
  }

  #refuse(request: FastifyRequest, reply: FastifyReply, sentence: string): FastifyReply {
    this.#deps.refusals.record('ticket', remoteOf(request));
    return refuseRequest(reply, 401, sentence, { 'WWW-Authenticate': 'Bearer' });
  }

  readonly #view = async ({ sessionId, endReason }: WatchedCall): Promise<WatchedCallJson> => {
    const described = await describeCarriedCall(this.#deps, sessionId);
    return { ...described, end_reason: endReason };
  };

  /** One ticket per link. Requesting links again invalidates only the page's own earlier tickets. */
  readonly #links = async ({ key, sessionId }: WatchedCall): Promise<AdminAnswer> => {
    const { calls, tickets } = this.#deps;
    if (calls.find(sessionId) === null) return callEnded;
    const [live, source, output] = ['live', 'source', 'output'].map(
      (link) => tickets.issue(sessionId, `${key} ${link}`)?.ticket,
    );
    if (live === undefined || source === undefined || output === undefined) return noTicket;
    const origin = this.#deps.mediaOrigin(sessionId);
    const links: MediaLinksJson = {
      live: `${origin}/media/v1/whep?${new URLSearchParams({ ticket: live }).toString()}`,
      source: pictureLink(origin, source, 'source'),
      output: pictureLink(origin, output, 'output'),
    };
    return links;
  };
}
