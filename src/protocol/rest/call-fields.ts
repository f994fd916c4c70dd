/**
 * The kinds of field in the body that asks for call credentials. Each says in words what it takes, so that every
 * mistake in it is answered with the same sentence; in an optional one, `""` and null count as left out.
 * Source: calls-and-media.md, Credential issuance.
 */
import { z } from 'zod';
import { utf8Length } from '../../lib/utf8.ts';

type Scalar = string | number | boolean;
type Blank = '' | null | undefined;

/** `rule`: what a field must be, for the message. */
export function mustBe(rule: string): { readonly error: (issue: { readonly input?: unknown }) => string } {
  return { error: ({ input }) => (input === undefined ? 'is missing' : `must be ${rule}`) };
}

export function requiredText(bytesMax: number) {
  const params = mustBe(`a string of 1-${bytesMax} bytes`);
  return boundedText(z.string(params).min(1, params), bytesMax, params);
}

/** Left out, it is empty. */
export function optionalText(bytesMax: number) {
  const params = mustBe(`a string of at most ${bytesMax} bytes`);
  return orElse(boundedText(z.string(params), bytesMax, params).nullable(), '');
}

/** Characters are never more than bytes, so that the bound a JSON schema can state holds too. */
function boundedText(text: z.ZodString, bytesMax: number, params: ReturnType<typeof mustBe>) {
  return text.max(bytesMax, params).refine((given) => utf8Length(given) <= bytesMax, params);
}

/** Read by devices without decoding, and standing in a URL as it is. */
export function requiredWord(charactersMax: number) {
  const params = mustBe(`1-${charactersMax} characters of A-Z, a-z, 0-9, _, . and -`);
  return z.string(params).regex(new RegExp(`^[A-Za-z0-9_.-]{1,${charactersMax}}$`), params);
}

export function requiredChoice<const Choice extends Scalar>(choices: readonly Choice[]) {
  return z.literal(choices, oneOf(choices));
}

/** Left out, it is `otherwise`. */
export function optionalChoice<const Choice extends Scalar, const Otherwise extends Choice | undefined>(
  choices: readonly Choice[],
  otherwise: Otherwise,
) {
  return orElse(z.literal([...choices, '', null], oneOf(choices)), otherwise);
}

/** Left out, it is `otherwise`. `1.0` is an integer: JSON has numbers, and no other kind. */
export function optionalInteger<const Otherwise extends number | undefined>(
  min: number,
  max: number,
  otherwise: Otherwise,
) {
  const params = mustBe(`an integer from ${min} to ${max}`);
  const integer = z.int(params).min(min, params).max(max, params);
  return orElse(z.union([integer, z.literal(['', null])], params), otherwise);
}

function oneOf(choices: readonly Scalar[]) {
  return mustBe(`one of ${choices.join(', ')}`);
}

function orElse<Field extends z.ZodType, Otherwise>(field: Field, otherwise: Otherwise) {
  type Given = Exclude<z.output<Field>, Blank>;
  return field
    .optional()
    .meta(otherwise === undefined ? {} : { default: otherwise })
    .transform((given): Given | Otherwise => (isBlank(given) ? otherwise : (given as Given)));
}

function isBlank(given: unknown): given is Blank {
  return given === undefined || given === null || given === '';
}
