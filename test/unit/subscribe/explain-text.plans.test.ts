import { describe, expect, it } from 'vitest';

import { scalar } from '../../../src/relation/sql-type.ts';
import { parseExplainKeys, parseExplainTypes } from '../../../src/subscribe/explain-text.ts';

const plan = (annotation: string): string => `Explained Query:
  ReadStorage materialize.public.t // { ${annotation} }

Source materialize.public.t

Target cluster: quickstart
`;

describe('GIVEN a plan explained with keys', () => {
  it.each([
    ['"([0], [1, 2])"', [[0], [1, 2]]], ['"([0])"', [[0]]], ['"()"', []], ['"([])"', [[]]], ['"([10,11])"', [[10, 11]]],
  ])('WHEN the root says keys: %s THEN those are the keys', (text, keys) => {
    expect(parseExplainKeys(plan(`keys: ${text}`))).toEqual(keys);
  });

  it.each(['', 'keys: "([0]"', 'keys: "([a])"', 'keys: "[0]"', 'keys: ([0])', 'keys: "([0] [1])"', 'keys: "([0],)"', 'types: "()"'])(
    'WHEN the root says %j THEN the keys are not known', (annotation) => {
      expect(parseExplainKeys(plan(annotation))).toBeNull();
    });

  it('WHEN deeper nodes and common parts have keys THEN only those of the root count', () => {
    const nested = [
      'Explained Query:', '  With', '    cte l0 =', '      Distinct project=[#0] // { keys: "([0])" }',
      '  Return // { keys: "()" }', '    Union // { keys: "([0, 1])" }',
    ].join('\n');
    expect(parseExplainKeys(nested)).toEqual([]);
  });
});

describe('GIVEN a plan explained with types', () => {
  it('WHEN the root has types THEN they are known with nullability, also beside keys', () => {
    const expected = [{ type: scalar('integer'), nullable: false }, { type: scalar('text'), nullable: true }];
    expect(parseExplainTypes(plan('types: "(integer, text?)"'))).toEqual(expected);
    expect(parseExplainTypes(plan('types: "(integer, text?)", keys: "([0])"'))).toEqual(expected);
  });

  it('WHEN a field name is quoted THEN it is unescaped', () => {
    expect(parseExplainTypes(plan('types: "(record(\\"a b\\": integer)?)"'))).toEqual([{
      type: { kind: 'record', fields: [{ name: 'a b', type: scalar('integer'), nullable: false }] }, nullable: true,
    }]);
  });

  it('WHEN there is no annotation THEN the types are not known', () => {
    expect(parseExplainTypes('Explained Query:\n  ReadStorage materialize.public.t\n')).toBeNull();
    expect(parseExplainTypes('')).toBeNull();
  });
});
