/**
 * Requests for a WebRTC connection, as RFC 9725 has them (WHIP): an offer at the endpoint, and changes and the end of the
 * session resource that it makes. Source: RFC 9725; calls-and-media.md, Legs.
 */
import type { IncomingMessage } from 'node:http';
import { callTokenBytesMax } from '../../model/limits.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { LegRefusal } from '../../model/call.ts';
import { isContentType } from '../../protocol/rest/content-type.ts';
import type { HttpRefusal } from './refusal.ts';

/** What a browser asks before a request of another page's. */
export interface RtcPreflight {
  readonly kind: 'preflight';
  readonly allow: string;
}

/** A device's, or a viewer's. */
export type RtcOfferRequest =
  { readonly kind: 'whip'; readonly token: string } | { readonly kind: 'whep'; readonly ticket: string };

export interface RtcChange {
  readonly kind: 'rtc-patch' | 'rtc-delete';
  /** As the `Location` of its answer has it. */
  readonly resource: string;
  /** Null: none, or none of its form. */
  readonly bearer: string | null;
}

type Read<Kind> = Result<Kind, HttpRefusal | LegRefusal>;

const whipPath = '/media/v1/whip';
const whepPath = '/media/v1/whep';

export const offerType = 'application/sdp';
export const fragmentType = 'application/trickle-ice-sdpfrag';

const endpointMethods = 'POST, OPTIONS';
const sessionMethods = 'PATCH, DELETE, OPTIONS';

/** `path`: without a slash at its end. */
export function isRtcPath(path: string): boolean {
  return isAtOrBelow(whipPath, path) || isViewerPath(path);
}

/** Whoever has a ticket may ask there, from whatever page: it is good for one offer, and browsers add nothing to it. */
export function isViewerPath(path: string): boolean {
  return isAtOrBelow(whepPath, path);
}

function isAtOrBelow(endpoint: string, path: string): boolean {
  return path === endpoint || path.startsWith(`${endpoint}/`);
}

export function readRtcRequest(
  request: IncomingMessage,
  path: string,
): Read<RtcPreflight | RtcOfferRequest | RtcChange> {
  const isEndpoint = path === whipPath || path === whepPath;
  if (request.method === 'OPTIONS')
    return succeed({ kind: 'preflight', allow: isEndpoint ? endpointMethods : sessionMethods });
  if (!isEndpoint) return readChange(request, path.slice(whipPath.length + 1));
  if (request.method !== 'POST') return fail(methodRefused(endpointMethods));
  const credential = isViewerPath(path) ? readTicket(request) : readToken(request);
  if (!credential.ok || isContentType(request.headers['content-type'], offerType)) return credential;
  return fail(typeRefused(offerType, 'Accept-Post'));
}

function readToken(request: IncomingMessage): Read<RtcOfferRequest> {
  const token = bearerOf(request);
  return token === null ? fail('malformed') : succeed({ kind: 'whip', token });
}

function readTicket({ url = '' }: IncomingMessage): Read<RtcOfferRequest> {
  const [, ...query] = url.split('?');
  const [ticket, ...more] = new URLSearchParams(query.join('?')).getAll('ticket');
  return ticket === undefined || more.length > 0 ? fail('ticket') : succeed({ kind: 'whep', ticket });
}

function readChange(request: IncomingMessage, resource: string): Read<RtcChange> {
  const bearer = bearerOf(request);
  if (request.method === 'DELETE') return succeed({ kind: 'rtc-delete', resource, bearer });
  if (request.method !== 'PATCH') return fail(methodRefused(sessionMethods));
  return isContentType(request.headers['content-type'], fragmentType)
    ? succeed({ kind: 'rtc-patch', resource, bearer })
    : fail(typeRefused(fragmentType, 'Accept-Patch'));
}

function methodRefused(methods: string): HttpRefusal {
  return { status: 405, sentence: `the methods are ${methods}`, headers: { Allow: methods } };
}

function typeRefused(type: string, header: string): HttpRefusal {
  return { status: 415, sentence: `the Content-Type is ${type}`, headers: { [header]: type } };
}

const bearerForm = /^bearer +([\x21-\x7e]+)$/i;

/** Null: none, more than one, or longer than a token is. `headers` would know one of several. */
export function bearerOf({ headersDistinct }: IncomingMessage): string | null {
  const [only = '', ...more] = headersDistinct['authorization'] ?? [];
  const bearer = bearerForm.exec(only)?.[1];
  return bearer === undefined || more.length > 0 || bearer.length > callTokenBytesMax ? null : bearer;
}
