"""The uniform grid under spatial queries."""
