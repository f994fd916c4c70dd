/**
 * Requests for a WebRTC connection by WHIP (RFC 9725): an offer at the endpoint; changes and the end of the session resource that it
 * creates. Source: RFC 9725; calls-and-media.md, Legs.
 */
import type { IncomingMessage } from 'node:http';
import { callTokenBytesMax } from '../../model/limits.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { LegRefusal } from '../../model/call.ts';
import { isContentType } from '../../protocol/rest/content-type.ts';
import type { HttpRefusal } from './refusal.ts';

/** The request that a browser sends before a cross-origin one. */
export interface RtcPreflight {
  readonly kind: 'preflight';
  readonly allow: string;
}

/** An offer of a device (WHIP) or of a viewer (WHEP). */
export type RtcOfferRequest =
  { readonly kind: 'whip'; readonly token: string } | { readonly kind: 'whep'; readonly ticket: string };

export interface RtcChange {
  readonly kind: 'rtc-patch' | 'rtc-delete';
  /** The name in the `Location` of the response. */
  readonly resource: string;
  /** Null: missing or malformed. */
  readonly bearer: string | null;
}

type Read<Kind> = Result<Kind, HttpRefusal | LegRefusal>;

const whipPath = '/media/v1/whip';
const whepPath = '/media/v1/whep';

export const offerType = 'application/sdp';
export const fragmentType = 'application/trickle-ice-sdpfrag';

const endpointMethods = 'POST, OPTIONS';
const sessionMethods = 'PATCH, DELETE, OPTIONS';

export function isRtcPath(path: string): boolean {
  return isAtOrBelow(whipPath, path) || isViewerPath(path);
}

/** Pages of any origin may use it: a ticket is valid for one offer, and browsers add no credential of their own. */
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

/** Null: none, several, or longer than a token. `headers` would keep only one of several. */
export function bearerOf({ headersDistinct }: IncomingMessage): string | null {
  const [only = '', ...more] = headersDistinct['authorization'] ?? [];
  const bearer = bearerForm.exec(only)?.[1];
  return bearer === undefined || more.length > 0 || bearer.length > callTokenBytesMax ? null : bearer;
}
