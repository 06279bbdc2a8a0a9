"""Li and de Rijke, Cascading Non-stationary Bandits: Online Learning to Rank in the ... Cascade Model, IJCAI 2019."""
