import { inspect } from "node:util";

import { fromForm } from "./message.js";
import { SHAPES } from "./shapes.js";

/** How a value of JSON becomes one of JavaScript, by the name of its type. */
const READERS = {
  ms: (value) => new Date(value),
  us: (value) => new Date(value / 1000),
  bytes: (value) => Buffer.from(value, "base64"),
  Message: fromForm,
};

const sentence = (explanation) => explanation.sentence;
const line = ({ at, kind, group, client, node, detail }) =>
  [at.toISOString().slice(11, 23), kind, group, client, node, detail].filter(Boolean).join("  ");

/** The texts of values that print as text, by the name of their type. */
const PRINTED = {
  Explanation: sentence,
  IdleExplanation: sentence,
  History: ({ messageId, topic, steps }) =>
    [`message ${messageId} of ${topic}`, ...steps.map((step) => `  ${line(step)}`)].join("\n"),
  Step: line,
};

/** Return a value of the control port as an object of a type of types.d.ts; `null` and `undefined` become null. */
export function read(type, value) {
  if (value === null || value === undefined) return null;
  if (type.endsWith("[]")) return value.map((each) => read(type.slice(0, -2), each));
  if (type.endsWith("{}")) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, read(type.slice(0, -2), each)]));
  }
  if (READERS[type]) return READERS[type](value);
  const found = Object.fromEntries(
    SHAPES[type].map(([wire, name, inner]) => [name, inner ? read(inner, value[wire]) : (value[wire] ?? null)]),
  );
  return PRINTED[type] ? printedAs(found, PRINTED[type]) : found;
}

/** Let String() and console.log() show a text of the value. Comparisons and JSON do not see it. */
function printedAs(value, text) {
  for (const name of ["toString", inspect.custom]) Object.defineProperty(value, name, { value: () => text(value) });
  return value;
}

/** Return the items of a list in a response. */
export const listOf = (type, response, field) => read(`${type}[]`, response[field]);
