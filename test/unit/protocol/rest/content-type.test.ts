import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentTypeCharactersMax, isContentType } from '../../../../src/protocol/rest/content-type.ts';

const accepted = [
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'application/json; charset="utf-8"',
  'application/json \t;\tcharset = "UTF-8" ;',
  'application/json;',
  'application/json; ;; charset=utf8',
  'application/json; profile="a;b, c=d"; charset=utf-8',
  'application/json; x=y',
  String.raw`application/json; x="a\"; b\\"; charset=utf-8`,
];
for (const value of accepted)
  test(`the Content-Type ${JSON.stringify(value)} is JSON`, () => {
    assert.equal(isContentType(value, 'application/json'), true);
  });

const refused = [
  undefined,
  '',
  ' application/json',
  'text/plain',
  'application/jsonp',
  'text/json',
  'application',
  'application/json charset=utf-8',
  'application/json; charset',
  'application/json; charset=',
  'application/json; charset=latin1',
  'application/json; charset=utf-8; charset=latin1',
  'application/json; x="y',
  String.raw`application/json; x="y\"`,
  'application/json; x=y z',
  'application/json, text/plain',
];
for (const value of refused)
  test(`the Content-Type ${JSON.stringify(value)} is not JSON`, () => {
    assert.equal(isContentType(value, 'application/json'), false);
  });

test('another type is also compared without case and parameters', () => {
  assert.equal(isContentType('Application/SDP; x=1', 'application/sdp'), true);
  assert.equal(isContentType('application/sdpx', 'application/sdp'), false);
});

test('a Content-Type is read to its limit and refused beyond it', () => {
  const value = 'application/json'.padEnd(contentTypeCharactersMax);
  assert.equal(isContentType(value, 'application/json'), true);
  assert.equal(isContentType(`${value} `, 'application/json'), false);
});
