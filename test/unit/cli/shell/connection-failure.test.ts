import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ConnectionFailedError,
  explainConnectionFailure,
} from '../../../../src/cli/shell/connection-failure.ts';

/** Errors of Node; `advice`: a part of the advice. */
const failures = [
  {
    code: 'ECONNREFUSED',
    message: 'connect ECONNREFUSED',
    reason: /^nothing listens there$/,
    advice: /^elsewhere$/,
  },
  {
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    message: 'self-signed',
    reason: /not trusted: self-s/,
    advice: /--ca/,
  },
  { code: 'CERT_HAS_EXPIRED', message: 'has expired', reason: /not trusted: has expired/, advice: /--ca/ },
  {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    message: 'x',
    reason: /for another name/,
    advice: /a name that is/,
  },
  {
    code: 'EPROTO',
    message:
      'write EPROTO 80CC:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/x.c:350:\n',
    reason: /^the server does not use TLS$/,
    advice: /ws:/,
  },
  {
    code: 'EPROTO',
    message:
      'write EPROTO 80CC:error:0A000410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure:../deps/x.c:1:\n',
    reason: /^the TLS handshake was refused: sslv3 alert handshake failure$/,
    advice: /^elsewhere$/,
  },
  { code: 'ECONNRESET', message: 'socket hang up', reason: /broke: socket hang up/, advice: /wss:/ },
  { code: 'ENOTFOUND', message: 'getaddrinfo x', reason: /getaddrinfo x/, advice: /correct the name/ },
  { code: 'EHOSTUNREACH', message: 'no route', reason: /^no route$/, advice: /^elsewhere$/ },
];

for (const { code, message, reason, advice } of failures)
  test(`a connection error ${code} is explained: ${reason.source}`, () => {
    const told = explainConnectionFailure(Object.assign(new Error(message), { code }), 'elsewhere');
    assert.match(told.reason, reason);
    assert.match(told.advice, advice);
  });

test('an unreachable server is named', () => {
  const cause = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  assert.equal(new ConnectionFailedError('wss://lab:1', cause).message, 'wss://lab:1: nothing listens there');
});
