import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceHash, memberToken, NatsNames } from '../../../../src/cluster/nats/nats-names.ts';
import { connectionOptions, shownServers } from '../../../../src/cluster/nats/nats-options.ts';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';

const names = new NatsNames('north');

test('all names begin with the prefix', () => {
  const member = 'Knoten 1/0@x' as MemberId;
  assert.equal(names.member(member), 'north.member.S25vdGVuIDEvMEB4');
  assert.equal(names.eventStream, 'north_events');
  assert.equal(names.bucket('rows'), 'north_rows');
  assert.equal(names.bucketStream('rows'), 'KV_north_rows');
  for (const subject of [names.everybody, names.inbox, names.events]) assert.match(subject, /^north\./);
});

test('any device id becomes a key of 22 characters that a subject can hold', () => {
  // printf device-1 | sha256sum: its first 16 bytes.
  assert.equal(deviceHash('device-1' as DeviceId), 'AyBN6S4R_IxSgTm-QZBlkg');
  for (const id of ['a b.>*', '', 'ü'.repeat(100)])
    assert.match(names.event(id as DeviceId), /^north\.event\.[\w-]{22}$/);
  assert.notEqual(deviceHash('a' as DeviceId), deviceHash('b' as DeviceId));
});

test('the token of a member is its id again', () => {
  const member = 'node.* 1/0@abc' as MemberId;
  assert.equal(Buffer.from(memberToken(member), 'base64url').toString(), member);
  assert.match(memberToken(member), /^[\w-]+$/);
});

test('servers are shown without users and passwords', () => {
  assert.equal(
    shownServers('nats://a:hush,@one:1, tls://b:hush@two,nats://three'),
    'nats://one:1, tls://two,nats://three',
  );
  for (const token of ['hush', 'hu/sh', 'hu,sh', 'hu@sh'])
    assert.equal(shownServers(`nats://${token}@one,tls://${token}@two`), 'nats://one,tls://two', token);
});

test('a user without a password is a token, as NATS has it', () => {
  const optionsOf = (url: string): object => {
    const access = { url, credentialsPath: null, caPath: null, nodeName: 'node-a' };
    const { servers, user, pass, token } = connectionOptions(access, '_INBOX');
    return { servers, user, pass, token };
  };
  const none = { user: undefined, pass: undefined, token: undefined };
  assert.deepEqual(optionsOf('nats://host:4222'), { servers: ['host:4222'], ...none });
  assert.deepEqual(optionsOf('nats://to%2Fken@host'), { servers: ['host'], ...none, token: 'to/ken' });
  assert.deepEqual(optionsOf('nats://one,nats://token@two'), {
    servers: ['one', 'two'],
    ...none,
    token: 'token',
  });
  assert.deepEqual(optionsOf('tls://user:p%40ss@host'), {
    servers: ['host'],
    ...none,
    user: 'user',
    pass: 'p@ss',
  });
  assert.throws(() => optionsOf('nats://50%off@host'), /cluster.nats_url: a % before the @ is no escape/);
});
