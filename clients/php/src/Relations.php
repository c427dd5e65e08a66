<?php

declare(strict_types=1);

namespace Relata;

/** Related products (docs/interface §4.8). */
final class Relations
{
    /** The recommended number for one request (docs/interface §8). */
    private const AT_ONCE = 100;

    public function __construct(private readonly Transport $transport)
    {
    }

    /**
     * The products related to one product.
     *
     * @param list<array{tag: string, limitPerRelation?: int}> $includeTags
     * @param list<array{id: int, limit?: int}> $includeRelations
     * @param bool $explain adds to each product the reason why it is related
     * @return array{tags: list<array<string, mixed>>}
     */
    public function relatedTo(
        string $identifier,
        array $includeTags = [],
        array $includeRelations = [],
        bool $explain = false,
        ?int $projectId = null,
    ): array {
        $question = self::ask($includeTags, $includeRelations, $explain, $projectId);

        return $this->post('result', ['identifier' => $identifier] + $question);
    }

    /**
     * The products related to each of many products. Each request has 100 identifiers.
     *
     * @param iterable<string> $identifiers
     * @param list<array{tag: string, limitPerRelation?: int}> $includeTags
     * @param list<array{id: int, limit?: int}> $includeRelations
     * @param bool $explain adds to each product the reason why it is related
     * @return array<array-key, array{tags: list<array<string, mixed>>}> by identifier
     */
    public function relatedToMany(
        iterable $identifiers,
        array $includeTags = [],
        array $includeRelations = [],
        bool $explain = false,
        ?int $projectId = null,
    ): array {
        $question = self::ask($includeTags, $includeRelations, $explain, $projectId);
        $list = is_array($identifiers) ? $identifiers : iterator_to_array($identifiers, false);
        $related = [];
        foreach (array_chunk($list, self::AT_ONCE) as $some) {
            // Not array_merge, because PHP turns the identifier "123" into a number and would renumber it.
            $related += $this->post('bulk-results', ['identifiers' => $some] + $question);
        }

        return $related;
    }

    /**
     * Whether products can be used together (docs/interface §12.10).
     *
     * @param list<string|array{identifier: string, quantity?: int}> $items
     * @param list<string> $tags
     * @param list<int> $relations
     * @return array<string, mixed> with verdict, pairs and totals
     */
    public function fit(
        array $items,
        array $tags = [],
        array $relations = [],
        int $alternatives = 0,
        ?int $projectId = null,
    ): array {
        $items = array_map(static fn (mixed $one): mixed => is_string($one) ? ['identifier' => $one] : $one, $items);
        $question = compact('items', 'tags', 'relations', 'alternatives', 'projectId');

        return $this->post('fit', array_filter($question, static fn (mixed $value): bool => $value !== null));
    }

    /**
     * @param list<array<string, mixed>> $includeTags
     * @param list<array<string, mixed>> $includeRelations
     * @return array<string, mixed>
     */
    private static function ask(
        array $includeTags,
        array $includeRelations,
        bool $explain,
        ?int $projectId,
    ): array {
        return array_filter(
            compact('includeTags', 'includeRelations', 'explain', 'projectId'),
            static fn (mixed $value): bool => !in_array($value, [null, false, []], true),
        );
    }

    /**
     * @param array<string, mixed> $question
     * @return array<array-key, mixed>
     */
    private function post(string $path, array $question): array
    {
        return $this->transport->read('POST', "/search/relations/$path", [], Body::of($question));
    }
}
